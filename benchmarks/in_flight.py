"""A remote provider that takes half a second a request and eight at once: what kg gets out of it.

    python -m benchmarks.in_flight [--texts 20000] [--kills 3] [--dimensions 256]

The provider is an HTTP server of this script, in a process of its own. Asked first by a bare loop of as many
threads with requests of the same size, which is what it can give; then by a worker of kg. Its answers are
made beforehand, so that it takes no processor time from either. Prints one JSON object: texts a second of
both, their ratio, CPU milliseconds a text of each process (without kills), and at the end how many stored
vectors are not the one that the provider gives for the source's text. With --kills the worker is killed with
SIGKILL that many times in the middle.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack, stored_vectors
from kg_api.schemas.operations import FINISHED
from kg_api.settings import load_settings

ONTOLOGY = "far"
AT_ONCE = 8
SECONDS = 0.5
KNOWN = 4096
"""So many vectors there are; a text has one of them by its hash."""
BATCH = load_settings().worker.sources_a_batch
DOCUMENT = 40
"""Texts in a document."""
WORDS = ("river", "stone", "paper", "light", "engine", "garden", "winter", "signal", "copper", "letter")


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=1536)
    parser.add_argument("--serve", action="store_true", help="be the provider")
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.dimensions)
        return
    with provider(chosen.dimensions) as address:
        os.environ |= {
            "KG_EMBEDDING__PROVIDER": "openai",
            "KG_EMBEDDING__REQUESTS_AT_ONCE": str(AT_ONCE),
            "OPENAI_EMBED_DIMS": str(chosen.dimensions),
            "KG_CONCEPTS__EXTRACTOR": "none",
            "OPENAI_BASE_URL": address,
        }
        with stack() as running:
            ingest(running, chosen.texts)
            bare = bare_loop(address)
            asked = {name: getattr(chosen, name) for name in ("texts", "kills", "dimensions")}
            result = {**machine(), **asked, "bare_per_second": round(bare)}
            result |= embed(running, chosen.kills, chosen.texts, bare)
            result |= check(running, chosen.dimensions)
    print(json.dumps(result, indent=1))


def serve(dimensions: int) -> None:
    """Answer as OpenAI does, so many requests at once, each in so many seconds."""
    packed = [json.dumps(base64.b64encode(each.tobytes()).decode()) for each in vectors(dimensions)]
    turns = threading.Semaphore(AT_ONCE)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            """Embed."""
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            with turns:
                time.sleep(SECONDS)
            items = (
                f'{{"object":"embedding","index":{at},"embedding":{packed[number_of(text)]}}}'
                for at, text in enumerate(texts)
            )
            usage = '"usage":{"prompt_tokens":1,"total_tokens":1}'
            body = f'{{"object":"list","model":"m","data":[{",".join(items)}],{usage}}}'.encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


@contextmanager
def provider(dimensions: int) -> Generator[str]:
    """Run the provider; give its address."""
    command = [sys.executable, "-m", "benchmarks.in_flight", "--serve", "--dimensions", str(dimensions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@cache
def vectors(dimensions: int) -> NDArray[np.float32]:
    """All that the provider knows."""
    drawn = np.random.default_rng(7).standard_normal((KNOWN, dimensions))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype("<f4")


def number_of(text: str) -> int:
    """Which vector is a text's."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) % KNOWN


def text_of(number: int) -> str:
    """A text of about 80 tokens that no other is."""
    dice = random.Random(number)
    return f"Text {number}: " + " ".join(dice.choices(WORDS, k=70)) + "."


def ingest(running: Stack, texts: int) -> None:
    """Store them, to be embedded when it is asked for."""
    with running.client() as client:
        client.set_embedding_config(ONTOLOGY, embed_on_ingest=False)
        for begin in range(0, texts, DOCUMENT):
            whole = "\n\n".join(text_of(number) for number in range(begin, min(begin + DOCUMENT, texts)))
            client.ingest_text(whole, ontology=ONTOLOGY, document=f"{begin:08}.md")


def bare_loop(address: str, requests: int = 10) -> float:
    """Texts a second by threads that do nothing else, each with a connection of its own."""

    def ask(thread: int) -> None:
        with httpx.Client(timeout=60) as client:
            for request in range(requests):
                first = (thread * requests + request) * BATCH
                body = {"model": "m", "input": [text_of(first + n) for n in range(BATCH)]}
                client.post(f"{address}/embeddings", json=body).raise_for_status()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = time.monotonic()
        list(pool.map(ask, range(AT_ONCE)))
        return AT_ONCE * requests * BATCH / (time.monotonic() - begun)


def embed(running: Stack, kills: int, texts: int, bare: float) -> dict[str, Any]:
    """Have all embedded, killing on the way; how fast it went from the job's start to its end."""
    moments = sorted(random.sample(range(20, 80), kills))
    watched = Watched({} if kills else running.pids())
    before = watched.cpu_seconds()
    with running.client() as client:
        job = client.job(client.embed_ontology(ONTOLOGY).job_id or "")
        while job.state not in FINISHED:
            if moments and job.done * 100 >= moments[0] * texts:
                moments.pop(0)
                kill_worker(running)
            time.sleep(0.05)
            job = client.job(job.job_id)
    assert job.started_at is not None
    assert job.finished_at is not None
    spent = {role: took - before[role] for role, took in watched.cpu_seconds().items()}
    seconds = (job.finished_at - job.started_at).total_seconds()
    rate = texts / seconds
    return {
        "state": job.state,
        "kg_per_second": round(rate),
        "share": round(rate / bare, 3),
        "seconds": seconds,
        "cpu_ms_a_text": {role: round(1000 * took / texts, 2) for role, took in spent.items()},
    }


def kill_worker(running: Stack) -> None:
    """Kill it; its supervisor starts another."""
    if pid := running.pid("worker"):
        os.kill(pid, signal.SIGKILL)


def check(running: Stack, dimensions: int) -> dict[str, int]:
    """Compare every stored vector with the provider's own."""
    rows = stored_vectors(running, ONTOLOGY)
    wrong = sum(
        row["vector"] is None
        or not np.allclose(row["vector"], vectors(dimensions)[number_of(row["text"].strip())], atol=1e-6)
        for row in rows
    )
    return {"sources": len(rows), "without_right_vector": wrong}


if __name__ == "__main__":
    main()
