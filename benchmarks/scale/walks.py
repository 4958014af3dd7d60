"""What might look at everything: statements of every tick and every job, and what probes and people ask."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import httpx

from benchmarks.scale.taking_in import left
from benchmarks.scale.texts import Texts
from benchmarks.stack import Stack
from kg_api.client import KgClient
from kg_api.graph.library import list_ontologies
from kg_api.graph.spaces import write_configuration
from kg_api.graph.vectors import (
    BEGINNING,
    count_due,
    count_missing_embeddings,
    is_noted,
    list_pending_sources,
)
from kg_api.spaces.plans import read_embedding_state

ROUNDS = 5
LARGE = "large"
PATHS = (
    *("health", "ready", "metrics", "queue", "ontologies", "embedding-status"),
    *(f"ontologies/{LARGE}/embedding-status", f"ontologies/{LARGE}/embedding-config"),
    *(f"ontologies/{LARGE}/extraction-config", f"documents?ontology={LARGE}&limit=10", "jobs?limit=10"),
)
COMMANDS = (
    ("status", "--json"),
    ("ontologies", "--json"),
    ("admin", "source-embeddings", "status"),
    ("doctor",),
)
NEW = 10_000_000
"""The number of a document that is in no run."""
ONE_MORE = "one-more.md"
POLL_SECONDS = 0.05


def walks(running: Stack, texts: Texts) -> dict[str, Any]:
    """Milliseconds of each, medians."""
    _noted(running)
    told = {
        "requests": _requests(running),
        "commands": {" ".join(each): _median(lambda each=each: running.kg(*each), 3) for each in COMMANDS},
        "one more document": _one_more(running, texts),
    }
    return {**told, "statements": _statements(running)}


def _noted(running: Stack) -> None:
    """Wait until a worker has looked at all once and knows that what may be due is flagged."""
    with running.graph() as graph:
        state = read_embedding_state(graph, LARGE)
        _until(lambda: is_noted(graph, LARGE, state.target.mark))


def _statements(running: Stack) -> dict[str, float]:
    with running.graph() as graph:
        state = read_embedding_state(graph, LARGE)
        wanted = state.target.build_query()
        looks = {
            "due": lambda: list_pending_sources(graph, wanted, after=BEGINNING, limit=64),
            "count_due": lambda: count_due(graph, wanted),
            "list_ontologies": lambda: list_ontologies(graph, [state.counted]),
        }
        by_flags = {f"{name}, by flags": _median(look) for name, look in looks.items()}
        graph.transaction(lambda tx: write_configuration(tx, LARGE, state.configured))  # takes the note away
        return {
            **by_flags,
            **{f"{name}, reading all": _median(look) for name, look in looks.items()},
            "count_behind": _median(
                lambda: graph.transaction(lambda tx: count_missing_embeddings(tx, wanted))
            ),
        }


def _requests(running: Stack) -> dict[str, float]:
    with httpx.Client(base_url=running.home.build_api_url() or "", timeout=120) as http:
        return {
            f"GET /{path}": _median(lambda path=path: http.get(f"/{path}").raise_for_status())
            for path in PATHS
        }


def _one_more(running: Stack, texts: Texts) -> dict[str, float]:
    """One document beside all: stored, its vectors there, its jobs ended, deleted."""
    with running.client() as client:
        begun = time.monotonic()
        told = client.ingest_text(texts.document(NEW), ontology=LARGE, document=ONE_MORE)
        stored = time.monotonic() - begun
        _until(lambda: _state(client, told.job_id) != "queued")
        _until(lambda: left(running) == 0)
        ended = time.monotonic() - begun
        begun = time.monotonic()
        client.delete_document(ONE_MORE, ontology=LARGE)
        deleted = time.monotonic() - begun
    seconds = {"stored": stored, "all its jobs ended": ended, "deleted": deleted}
    return {name: round(1000 * each, 1) for name, each in seconds.items()}


def _state(client: KgClient, job_id: str | None) -> str:
    return client.job(job_id).state if job_id else ""


def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(POLL_SECONDS)


def _median(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken = list[float]()
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(taken), 1)
