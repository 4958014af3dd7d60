"""Ways to fuse words and meaning, compared on the lanes that a running kg gives for each question.

    python -m benchmarks.fusion SET ... [--model e5-small-v2] [--chat]

Each set is ingested into a kg of its own and each question asked once, with both lanes explained; what they
found is then fused in several ways here. So the lanes are the same for all, and every constant can be tried.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.stack import machine, stack
from kg_api.client import KgClient
from kg_api.evaluation.sets import read_set
from kg_api.schemas.evaluation import QuestionSet
from kg_api.schemas.search import SourceHit
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search.fusion import BEST, LaneScores, fuse
from kg_api.spaces.open_spaces import calibrate_similarity

QUESTIONS = 150
TOP = 10
CHAT = (
    (
        "Hi there, I hope you are doing well today! I have been reading a lot lately and something keeps "
        "coming back to my mind, so I thought I would simply ask somebody who may know. {} Any help with "
        "this would be great, thank you very much in advance and have a nice day!"
    ),
    (
        "I am preparing a talk for my colleagues next week and my notes are a mess. One of them will surely "
        "want to know this: {} Could you point me to the place where it is written, so that I can quote it "
        "properly?"
    ),
)
"""A question among many words that say nothing: full text suffers, vectors hardly do."""


@dataclass(frozen=True)
class Asked:
    """What both lanes found for one question."""

    right: Mapping[str, int]
    document_of: Mapping[str, str]
    near: dict[str, float]
    further: dict[str, float]
    words: dict[str, float]


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--model", help="another local model")
    parser.add_argument("--chat", action="store_true", help="put each question among many words")
    chosen = parser.parse_args()
    if chosen.model:
        os.environ["KG_EMBEDDING__MODEL"] = chosen.model
    calibration = _contrast()
    with stack() as running, running.client() as client:
        found: dict[str, Any] = {}
        for folder in chosen.sets:
            questions = read_set(folder)
            ingest_set(client, questions)
            running.kg(
                "ingest",
                str(last_document(running.home.path)),
                "--ontology",
                questions.name,
                "--wait",
                "--json",
            )
            found[questions.name] = _compare(_ask_all(client, questions, chat=chosen.chat), calibration)
    told = {"related": calibration.related, "unrelated": calibration.unrelated}
    print(json.dumps({"machine": machine(), "contrast": told, "ndcg@10": found}, indent=2))


def _contrast() -> SimilarityCalibration:
    from kg_api.providers.embedding import open_embedder  # noqa: PLC0415 - reads the model that --model named
    from kg_api.settings import load_settings  # noqa: PLC0415

    return calibrate_similarity(open_embedder(load_settings()))


def ingest_set(client: KgClient, questions: QuestionSet) -> None:
    """Send all documents of a set into an ontology of its name."""
    for each in questions.documents:
        client.ingest_text(
            each.text,
            ontology=questions.name,
            document=each.document,
            title=each.title or None,
            format="text",
        )


def last_document(home: Path) -> Path:
    """A file that makes `kg ingest --wait` wait for all that is there."""
    path = home / "last.txt"
    path.write_text("the last document of this set")
    return path


def _ask_all(client: KgClient, questions: QuestionSet, *, chat: bool) -> list[Asked]:
    dice = random.Random(7)
    asked = list(questions.queries)
    dice.shuffle(asked)
    found: list[Asked] = []
    for query in asked[:QUESTIONS]:
        text = dice.choice(CHAT).format(query.text) if chat else query.text
        hits = client.search_sources(text, ontology=questions.name, limit=100, explain=True).sources
        found.append(_lanes(hits, query.relevant))
    return found


def _lanes(hits: Sequence[SourceHit], right: Mapping[str, int]) -> Asked:
    near: dict[str, float] = {}
    further: dict[str, float] = {}
    words: dict[str, float] = {}
    for hit in hits:
        for part in hit.explanation.lanes if hit.explanation else ():
            lane = words if part.lane == "text" else further if part.rank is None else near
            lane[hit.source_id] = part.score
    return Asked(right, {hit.source_id: hit.document for hit in hits}, _best(near), further, _best(words))


def _best(scores: dict[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:BEST])


Way = Callable[[Asked], list[str]]


def _ways(calibration: SimilarityCalibration) -> dict[str, Way]:
    def lanes(asked: Asked) -> list[LaneScores]:
        return [LaneScores("vector", asked.near, asked.further, calibration), LaneScores("text", asked.words)]

    return {
        "text": lambda asked: list(asked.words),
        "vector": lambda asked: list(asked.near),
        "adaptive": lambda asked: list(fuse(lanes(asked))),
        "rrf": lambda asked: list(fuse(lanes(asked), "rrf")),
        "weighted 0.7": lambda asked: list(fuse(lanes(asked), "weighted")),
        "weighted 0.5": lambda asked: list(fuse(lanes(asked), "weighted", vector_weight=0.5)),
    }


def _compare(asked: Sequence[Asked], calibration: SimilarityCalibration) -> dict[str, float]:
    return {
        name: round(100 * statistics.mean(_gain(each, way(each)) for each in asked), 2)
        for name, way in _ways(calibration).items()
    }


def _gain(asked: Asked, ranked: Sequence[str]) -> float:
    """nDCG@10 over documents, each by its first source."""
    documents = list(dict.fromkeys(asked.document_of[each] for each in ranked))[:TOP]
    return discounted_gain(asked.right, documents)


def discounted_gain(right: Mapping[str, int], documents: Sequence[str]) -> float:
    """Give nDCG@10 of documents in their order."""
    ideal = sorted(right.values(), reverse=True)[:TOP]
    return _discounted([right.get(each, 0) for each in documents[:TOP]]) / _discounted(ideal)


def _discounted(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


if __name__ == "__main__":
    main()
