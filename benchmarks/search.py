"""Search: recall@10 of the vector index against exact cosine, with and without a filter, and latency."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stack import machine, stack, stored_vectors
from kg_api.client import KgClient
from kg_api.providers.embedding import open_embedder
from kg_api.schemas.search import SourceHits
from kg_api.settings import load_settings

QUERIES = 100
TOP = 10


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    embedder = open_embedder(load_settings())
    files = sorted(str(path) for path in chosen.folder.iterdir())
    with stack() as running:
        # two ontologies, so that a filter has something to leave out
        running.kg("ingest", *files[::5], "--ontology", "fifth", "--json", "--wait")
        rest = [name for name in files if name not in set(files[::5])]
        running.kg("ingest", *rest, "--ontology", "rest", "--json", "--wait")
        rows = [row for name in ("fifth", "rest") for row in stored_vectors(running, name)]
        questions = _questions(rows)
        vectors = np.stack([embedder.embed_query(question) for question in questions])
        with running.client() as client:
            result = {
                "machine": machine(),
                "sources": len(rows),
                "recall@10": _recall(client, rows, vectors, None),
                "recall@10 in one ontology": _recall(client, rows, vectors, "fifth"),
                "milliseconds": _latencies(client, questions, vectors),
            }
    print(json.dumps(result, indent=2))


def _questions(rows: list[dict[str, Any]]) -> list[str]:
    """The first words of random passages: what people would ask is not in the set, its words are."""
    chosen = random.Random(11).sample([row for row in rows if len(row["text"].split()) > 30], QUERIES)
    return [" ".join(row["text"].split()[5:17]) for row in chosen]


def _recall(client: KgClient, rows: list[dict[str, Any]], vectors: np.ndarray, ontology: str | None) -> float:
    within = [row for row in rows if ontology in (None, row["ontology"])]
    matrix = np.asarray([row["vector"] for row in within], dtype=np.float32)
    shares = list[float]()
    for vector in vectors:
        scores = matrix @ vector
        exact = {within[i]["id"] for i in np.argsort(-scores)[:TOP]}
        found = {hit.source_id for hit in _by_vector(client, vector, ontology).sources}
        shares.append(len(exact & found) / TOP)
    return round(statistics.mean(shares), 4)


def _by_vector(client: KgClient, vector: np.ndarray, ontology: str | None) -> SourceHits:
    return client.search_sources(
        None, query_vector=vector.tolist(), space="default", mode="vector", limit=TOP, ontology=ontology
    )


def _latencies(client: KgClient, questions: list[str], vectors: np.ndarray) -> dict[str, dict[str, float]]:
    ways = {
        "vector, without embedding": lambda i: _by_vector(client, vectors[i], None),
        "vector, with embedding": lambda i: client.search_sources(questions[i], mode="vector"),
        "vector, with embedding, one ontology": lambda i: client.search_sources(
            questions[i], mode="vector", ontology="fifth"
        ),
        "text": lambda i: client.search_sources(questions[i], mode="text"),
        "hybrid": lambda i: client.search_sources(questions[i], mode="hybrid"),
        "hybrid, with context": lambda i: client.search_sources(questions[i], expand_context=True),
    }
    return {name: _timed(way) for name, way in ways.items()}


def _timed(way: Any) -> dict[str, float]:
    for i in range(10):
        way(i)
    whole, inside = list[float](), list[float]()
    for i in range(QUERIES):
        begun = time.perf_counter()
        answer = way(i)
        whole.append((time.perf_counter() - begun) * 1000)
        inside.append(answer.timings_ms["total"])
    return {
        "p50": round(float(np.percentile(whole, 50)), 1),
        "p95": round(float(np.percentile(whole, 95)), 1),
        "p50 in the service": round(float(np.percentile(inside, 50)), 1),
    }


if __name__ == "__main__":
    main()
