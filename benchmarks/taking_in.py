"""How fast documents of one paragraph are taken in: alone and in batches, by one client and by eight.

python -m benchmarks.taking_in ../shared/data/python_peps/rst [--documents 1000] [--clients 1 8] [--size 100]

The worker stands still meanwhile: this measures the service and the database. Statements are counted in this
process, on the same database.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import numpy as np

from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack
from kg_api.container import open_container
from kg_api.graph.client import Graph, Transaction
from kg_api.ingest.records import Incoming
from kg_api.schemas.documents import GivenBatch
from kg_api.settings import load_settings

Send = Callable[[httpx.Client, Sequence[dict[str, str]]], None]
MIN_CHARACTERS = 200
MAX_CHARACTERS = 1500
WARM_UP = 200
METHOD_NOT_ALLOWED = 405


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--size", type=int, default=100)
    chosen = parser.parse_args()
    texts = read_paragraphs(chosen.folder)
    ways: dict[str, tuple[Send, int]] = {"alone": (_send_alone, 1)}
    with stack() as running, _standing_still(running):
        if _takes_batches(running):
            ways[f"batches of {chosen.size}"] = (_send_batch, chosen.size)
        measured: dict[str, Any] = {}
        for way, (send, size) in ways.items():
            for clients in chosen.clients:
                name = f"{way}, {clients} clients"
                _measure(running, send, documents_of(texts, f"warm {name}", WARM_UP), clients, size)
                documents = documents_of(texts, name, chosen.documents)
                measured[name] = _measure(running, send, documents, clients, size)
                print(name, measured[name], flush=True)
        statements = _count_statements(running, texts[0])
    print(json.dumps({"machine": machine(), "measured": measured, "statements": statements}, indent=2))


def read_paragraphs(folder: Path) -> list[str]:
    """Paragraphs of the files of a folder, none twice."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = (part.strip() for path in files for part in path.read_text("utf-8").split("\n\n"))
    return list(dict.fromkeys(part for part in parts if MIN_CHARACTERS <= len(part) <= MAX_CHARACTERS))


def documents_of(texts: Sequence[str], ontology: str, count: int) -> list[dict[str, str]]:
    """So many documents, a paragraph each."""
    name = "".join(each if each.isalnum() else "-" for each in ontology)
    chosen = itertools.islice(itertools.cycle(texts), count)
    return [
        {"ontology": name, "document": f"{at}.txt", "text": f"{text} ({at})"}
        for at, text in enumerate(chosen)
    ]


def _send_alone(client: httpx.Client, documents: Sequence[dict[str, str]]) -> None:
    for each in documents:
        client.post("/documents", json=each).raise_for_status()


def _send_batch(client: httpx.Client, documents: Sequence[dict[str, str]]) -> None:
    told = client.post("/documents/batch", json={"documents": documents}).raise_for_status().json()
    if not all(each["ingested"] for each in told["outcomes"]):
        raise SystemExit(f"a document was refused: {told}")


def _measure(
    running: Stack, send: Send, documents: Sequence[dict[str, str]], clients: int, size: int
) -> dict[str, Any]:
    pids = running.pids()
    watched = Watched({role: pids[role] for role in ("api", "neo4j")})
    parts = [documents[start : start + size] for start in range(0, len(documents), size)]
    before, begun = watched.cpu_seconds(), time.perf_counter()
    address = running.home.build_api_url() or ""
    with httpx.Client(base_url=address, timeout=120) as client, ThreadPoolExecutor(clients) as pool:
        taken = list(pool.map(partial(_time, send, client), parts))
    seconds = time.perf_counter() - begun
    used = {role: after - before[role] for role, after in watched.cpu_seconds().items()}
    return {
        "documents a second": round(len(documents) / seconds),
        "p50 ms a request": round(float(np.percentile(taken, 50)), 1),
        "p95 ms a request": round(float(np.percentile(taken, 95)), 1),
        "CPU ms a document": {role: round(1000 * each / len(documents), 2) for role, each in used.items()},
    }


def _time(send: Send, client: httpx.Client, part: Sequence[dict[str, str]]) -> float:
    begun = time.perf_counter()
    send(client, part)
    return (time.perf_counter() - begun) * 1000


def _takes_batches(running: Stack) -> bool:
    answer = httpx.post(f"{running.home.build_api_url()}/documents/batch", json={"documents": []})
    return answer.status_code != METHOD_NOT_ALLOWED


@contextmanager
def _standing_still(running: Stack) -> Generator[None]:
    pid = running.pids()["worker"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _count_statements(running: Stack, text: str) -> dict[str, Any]:
    """Of one new document, of one that is the same, of one that changed, and of a batch of new ones."""
    os.environ["KG_HOME"] = str(running.home.path)
    with open_container(load_settings(), needs_embedder=False) as container:
        take = container.ingest.ingest
        about = Incoming("counted", "1.txt", text)
        batch = GivenBatch(documents=documents_of([text], "counted too", 100))
        with _counting() as ran:
            return {
                **{
                    f"a new one, {at}. time": ran(lambda at=at: take(Incoming("counted", f"{at}.txt", text)))
                    for at in (1, 2, 3)
                },
                "the same": ran(lambda: take(about)),
                "a changed one": ran(lambda: take(Incoming("counted", "1.txt", f"{text} More."))),
                "100 new ones": ran(lambda: container.ingest.ingest_batch(batch)),
            }


@contextmanager
def _counting() -> Generator[Callable[[Callable[[], object]], dict[str, Any]]]:
    """Give a function that says how many statements something runs, and how many milliseconds it takes."""
    taken: list[tuple[str, float]] = []

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, name: str, *space: str, **parameters: Any) -> Any:
            begun = time.perf_counter()
            rows = original(self, name, *space, **parameters)
            taken.append((name, round((time.perf_counter() - begun) * 1000, 1)))
            return rows

        return run

    def ran(call: Callable[[], object]) -> dict[str, Any]:
        taken.clear()
        begun = time.perf_counter()
        call()
        ms = round((time.perf_counter() - begun) * 1000, 1)
        told = [f"{name} {each} ms" for name, each in taken]
        return {"statements": len(taken), "ms": ms, "each": told}

    in_transactions = patch.object(Transaction, "run", counted(Transaction.run))
    with in_transactions, patch.object(Graph, "read", counted(Graph.read)):
        yield ran


if __name__ == "__main__":
    main()
