"""Questions that need passages of two PEPs, with and without the graph, and what the graph costs.

    python -m benchmarks.two_documents ../shared/data/python_peps/rst
    python -m benchmarks.two_documents ../shared/data/python_peps/rst --times 10    # and so many as large

Takes in all PEPs with their concepts and asks the questions of two_documents.jsonl, which were written from
the texts before any search was tried: one PEP names something, another has what is asked of it. Prints, for
each question and way, at which ranks the two passages stand, how many questions have both in ten and twenty,
and the times of a search, for titles of PEPs asked in turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.multiplied import multiply
from benchmarks.stack import Stack, machine, stack
from kg_api.client import KgClient

QUESTIONS = Path(__file__).with_name("two_documents.jsonl")
WAYS: dict[str, dict[str, Any]] = {"hybrid": {}, "graph": {"graph": True}, "concepts": {"concepts": True}}
LIMIT = 20
ONTOLOGY = "peps"
TITLES = 200


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=1)
    chosen = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    with stack() as running:
        seconds = taken_in(running, chosen.folder)
        with running.client() as client:
            client.search_sources("warm", ontology=ONTOLOGY, graph=True)
            ranks = {way: [asked(client, each, way) for each in questions] for way in WAYS}
            times = {"as taken in": timed(client, titles(chosen.folder))}
            if chosen.times > 1:
                size = multiply(running, ONTOLOGY, chosen.times)
                times[f"{size} sources"] = timed(client, titles(chosen.folder))
    told = {**machine(), "taken_in_s": seconds, "ranks": ranks, "both": both(ranks), "ms": times}
    print(json.dumps(told, indent=1))


def taken_in(running: Stack, folder: Path) -> float:
    """Ingest a folder and wait until all its concepts are embedded, too; how long it took."""
    begun = time.monotonic()
    running.kg("ingest", str(folder), "--ontology", ONTOLOGY, "--wait")
    running.rest()
    running.kg("admin", "regenerate-embeddings", "--type", "concept", "--ontology", ONTOLOGY)
    running.rest()
    return round(time.monotonic() - begun, 1)


def asked(client: KgClient, question: dict[str, Any], way: str) -> list[int | None]:
    """At which ranks the passages stand that a question needs; none: not among the hits."""
    found = client.search_sources(question["query"], ontology=ONTOLOGY, limit=LIMIT, **WAYS[way]).sources
    texts = [(hit.document.rpartition("/")[2], " ".join(hit.full_text.split())) for hit in found]
    return [rank_of(texts, need["document"], " ".join(need["quote"].split())) for need in question["needs"]]


def rank_of(texts: Sequence[tuple[str, str]], document: str, quote: str) -> int | None:
    """The first place of a text of a document that has a quote, from 1."""
    return next((at for at, (name, text) in enumerate(texts, 1) if name == document and quote in text), None)


def both(ranks: dict[str, list[list[int | None]]]) -> dict[str, dict[str, int]]:
    """By way and number of hits, how many questions have all that they need."""
    return {
        way: {f"@{k}": sum(all(rank and rank <= k for rank in each) for each in found) for k in (10, LIMIT)}
        for way, found in ranks.items()
    }


def titles(folder: Path) -> list[str]:
    """Some titles of PEPs, spread over all."""
    lines = [path.read_text(encoding="utf-8").splitlines() for path in sorted(folder.glob("*.rst"))]
    found = [
        line.removeprefix("Title:").strip() for each in lines for line in each if line.startswith("Title:")
    ]
    return found[:: max(1, len(found) // TITLES)][:TITLES]


def timed(client: KgClient, queries: Sequence[str]) -> dict[str, str]:
    """Median and 95th percentile of milliseconds by way; in turns, and no question twice."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for options in WAYS.values():
        client.search_sources("what a search costs", ontology=ONTOLOGY, **options)
    for at, query in enumerate(queries):
        for way, options in WAYS.items():
            begun = time.perf_counter()
            client.search_sources(f"{query} {at}{way[0]}", ontology=ONTOLOGY, **options)
            seconds[way].append(time.perf_counter() - begun)
    found = {way: np.percentile(each, (50, 95)) for way, each in seconds.items()}
    return {way: f"{p50 * 1000:.1f} / {p95 * 1000:.1f}" for way, (p50, p95) in found.items()}


if __name__ == "__main__":
    main()
