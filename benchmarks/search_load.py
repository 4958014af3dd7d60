"""Search under load: ten clients for a minute, and each stage's share of one search.

python -m benchmarks.search_load ../shared/data/python_peps/rst [--clients 10] [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crowd import crowd
from benchmarks.stack import machine, stack, stored_vectors

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
        searches = [{"query_text": each} for each in questions]
        together = crowd(running, searches, chosen.clients, chosen.seconds)
    result = {"machine": machine(), "sources": len(rows), "one at a time": alone, "together": together}
    print(json.dumps(result, indent=2))


def _questions(texts: list[str]) -> list[str]:
    """Some words of random passages."""
    chosen = random.Random(5).choices([text for text in texts if len(text.split()) > 30], k=QUESTIONS)
    return [" ".join(text.split()[5:15]) for text in chosen]


def _alone(client: Any, questions: list[str], way: dict[str, Any]) -> dict[str, Any]:
    """Median of each stage, and the whole as a multiple of embedding and asking the lanes."""
    for question in questions[:20]:
        client.search_sources(question, **way)
    asked = questions[: 30 if "rerank" in way else ALONE]
    answers: list[dict[str, float]] = [client.search_sources(each, **way).timings_ms for each in asked]
    stages = {name: round(statistics.median(each.get(name, 0) for each in answers), 2) for name in answers[0]}
    needed = [each["embed"] + each["retrieve"] for each in answers]
    multiple = statistics.median(each["total"] / least for each, least in zip(answers, needed, strict=True))
    p95 = round(float(np.percentile([each["total"] for each in answers], 95)), 1)
    return {**stages, "p95": p95, "multiple": round(multiple, 2)}


if __name__ == "__main__":
    main()
