"""The chunking evaluation through kg itself: the real service, its search, Lucene's words.

    python -m benchmarks.chunking_live [--data ../shared/data/chroma_chunking]

The same questions and rules as `benchmarks.chunking`, which has more settings and needs no server. Each hit's
matched chunk counts; kg gives one chunk a source, so five hits are five sources.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.chunking import DATA, RETRIEVED
from benchmarks.stack import machine, stack
from kg_api.client import KgClient
from kg_api.evaluation.scores import Range, Scores, compute_scores
from kg_api.schemas.vocabulary import SearchMode

SETTINGS: list[dict[str, Any]] = [
    {"strategy": "paragraph", "chunk_size": 140},
    {"strategy": "paragraph"},
    {"strategy": "semantic", "chunk_size": 150},
    {"strategy": "hierarchical", "chunk_size": 700, "overlap": 0},
]
MODES: tuple[SearchMode, ...] = ("vector", "hybrid")


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    data: Path = parser.parse_args().data
    lines = (data / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with stack() as running, running.client() as client:
        found: list[dict[str, Any]] = []
        for number, setting in enumerate(SETTINGS):
            ontology = f"setting-{number}"
            client.set_embedding_config(ontology, **setting)
            running.kg("ingest", str(data / "corpora"), "--ontology", ontology, "--json", "--wait")
            found += [
                {**setting, "mode": mode, **_mean([_ask(client, ontology, mode, q) for q in questions])}
                for mode in MODES
            ]
    print(json.dumps({"machine": machine(), "questions": len(questions), "settings": found}, indent=2))


def _ask(client: KgClient, ontology: str, mode: SearchMode, question: dict[str, Any]) -> Scores:
    answer = client.search_sources(question["text"], ontology=ontology, mode=mode, limit=RETRIEVED)
    own: list[Range] = []
    elsewhere = 0
    for hit in answer.sources:
        if hit.document == f"{question['corpus_id']}.md":
            own.append((hit.chunk.start, hit.chunk.end))
        else:
            elsewhere += hit.chunk.end - hit.chunk.start
    references = [(each["start"], each["end"]) for each in question["references"]]
    return compute_scores(references, own, elsewhere)


def _mean(each: Sequence[Scores]) -> dict[str, float]:
    def percent(name: str) -> float:
        return round(100 * statistics.mean(getattr(one, name) for one in each), 2)

    return {name: percent(name) for name in ("recall", "precision", "iou")}


if __name__ == "__main__":
    main()
