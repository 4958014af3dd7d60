"""Search under load: ten clients for a minute, and each stage's share of one search.

python -m benchmarks.search_load ../shared/data/python_peps/rst [--clients 10] [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack, stored_vectors
from kg_api.errors import KgError

ALONE = 200
QUESTIONS = 300
WAYS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "vector": {"mode": "vector"},
    "text": {"mode": "text"},
    "hybrid, one a document": {"per_document": 1},
    "hybrid, MMR": {"mmr_lambda": 0.7},
    "hybrid, duplicates collapsed": {"collapse_duplicates": True},
    "hybrid, windows": {"expand_context": True},
    "hybrid, explained": {"explain": True},
    "hybrid, exact": {"exact": True},
    "hybrid, 10 reranked": {"rerank": True, "first_stage_limit": 10},
}


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args()
    with stack() as running:
        running.kg("ingest", str(chosen.folder), "--ontology", "all", "--json", "--wait")
        running.rest()
        rows = stored_vectors(running, "all")
        questions = _questions([row["text"] for row in rows])
        with running.client() as client:
            alone = {name: _alone(client, questions, way) for name, way in WAYS.items()}
        together = _together(running, questions, chosen.clients, chosen.seconds)
    result = {"machine": machine(), "sources": len(rows), "one at a time": alone, "together": together}
    print(json.dumps(result, indent=2))


def _questions(texts: list[str]) -> list[str]:
    """Some words of random passages."""
    chosen = random.Random(5).choices([text for text in texts if len(text.split()) > 30], k=QUESTIONS)
    return [" ".join(text.split()[5:15]) for text in chosen]


def _alone(client: Any, questions: list[str], way: dict[str, Any]) -> dict[str, Any]:
    """Median of each stage, and the whole as a multiple of embedding and the slowest round trip."""
    for question in questions[:20]:
        client.search_sources(question, **way)
    asked = questions[: 30 if "rerank" in way else ALONE]
    answers: list[dict[str, float]] = [client.search_sources(each, **way).timings_ms for each in asked]
    stages = {name: round(statistics.median(each.get(name, 0) for each in answers), 2) for name in answers[0]}
    needed = [each["embed"] + max(each.get("vector", 0), each.get("text", 0)) for each in answers]
    multiple = statistics.median(each["total"] / least for each, least in zip(answers, needed, strict=True))
    p95 = round(float(np.percentile([each["total"] for each in answers], 95)), 1)
    return {**stages, "p95": p95, "multiple": round(multiple, 2)}


def _together(running: Stack, questions: list[str], clients: int, seconds: float) -> dict[str, Any]:
    ends = time.monotonic() + seconds

    def one(number: int) -> tuple[list[float], int]:
        dice, taken, errors = random.Random(number), list[float](), 0
        with running.client() as client:
            while time.monotonic() < ends:
                begun = time.perf_counter()
                try:
                    client.search_sources(dice.choice(questions))
                except KgError:
                    errors += 1
                taken.append((time.perf_counter() - begun) * 1000)
        return taken, errors

    pids = running.pids()
    watched = Watched({role: pids[role] for role in ("api", "neo4j")})
    before = watched.cpu_seconds()
    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(one, range(clients)))
    used = {role: after - before[role] for role, after in watched.cpu_seconds().items()}
    taken = [each for part, _ in done for each in part]
    return {
        "clients": clients,
        "searches a second": round(len(taken) / seconds, 1),
        "p50": round(float(np.percentile(taken, 50)), 1),
        "p95": round(float(np.percentile(taken, 95)), 1),
        "errors": sum(errors for _, errors in done),
        "CPU ms a search": {role: round(1000 * each / len(taken), 1) for role, each in used.items()},
    }


if __name__ == "__main__":
    main()
