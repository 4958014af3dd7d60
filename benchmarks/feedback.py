"""Feedback from the first hits: a question moved towards them (Rocchio), or words taken from them (RM3).

    python -m benchmarks.feedback SET ... [--questions 300]

Each set is ingested into a kg of its own and each question asked once, with both lanes explained. Vectors
are compared exactly here, and what feedback makes of a question is fused with the lanes as kg fuses them,
so that ways differ in feedback alone. Rocchio: q + b * mean of the first k hits' vectors. RM3: of the
first k hits the n words that say most (frequency times idf, none of the question's, none in a tenth of
all passages), whose BM25 is added to the word lane with weight w, scaled to its best score.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fusion import discounted_gain, ingest_set, last_document
from benchmarks.stack import Stack, machine, stack, stored_vectors
from kg_api.client import KgClient
from kg_api.evaluation.sets import read_set
from kg_api.providers.embedding import open_embedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.evaluation import QuestionSet
from kg_api.schemas.spaces import USUAL
from kg_api.search.fusion import BEST, LaneScores, fuse
from kg_api.settings import load_settings

WORD = re.compile(r"\w+")
ROCCHIO = [(hits, weight) for hits in (2, 3, 5) for weight in (0.2, 0.4, 0.7)]
RM3 = [(3, 10, 0.2), (5, 10, 0.2), (5, 20, 0.4)]
COMMON = 0.1
"""Words of more passages than this share are not taken."""
K1 = 1.2

Scores = dict[str, float]


@dataclass(frozen=True)
class Passages:
    """All passages of a set, with their vectors and words."""

    ids: Sequence[str]
    vectors: np.ndarray
    words: Sequence[Counter[str]]

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Where each stands."""
        return {identity: row for row, identity in enumerate(self.ids)}

    @cached_property
    def holders(self) -> Mapping[str, list[int]]:
        """The passages of each word."""
        found: dict[str, list[int]] = defaultdict(list)
        for row, words in enumerate(self.words):
            for word in words:
                found[word].append(row)
        return found

    def nearest(self, cosines: np.ndarray) -> Scores:
        """The vector lane, compared exactly."""
        return {self.ids[row]: float(cosines[row]) for row in map(int, np.argsort(-cosines)[:BEST])}

    def mean_vector(self, hits: Sequence[str]) -> np.ndarray:
        """The middle of some passages."""
        return np.mean([self.vectors[self.rows[each]] for each in hits if each in self.rows], axis=0)

    def telling_words(self, hits: Sequence[str], question: str, count: int) -> list[tuple[str, float]]:
        """The words of some passages that say most, with their weights."""
        weights: Counter[str] = Counter()
        asked = set(_words(question))
        for words in (self.words[self.rows[each]] for each in hits if each in self.rows):
            for word, often in words.items():
                holders = len(self.holders[word])
                if word not in asked and not word.isdigit() and 1 < holders < COMMON * len(self.ids):
                    weights[word] += often / words.total() * math.log(len(self.ids) / holders)  # pyright: ignore[reportArgumentType]
        chosen = weights.most_common(count)
        whole = math.fsum(weight for _, weight in chosen) or 1
        return [(word, weight / whole) for word, weight in chosen]

    def bm25(self, words: Sequence[tuple[str, float]]) -> np.ndarray:
        """Scores of all passages for weighted words; lengths are left out, passages are about alike."""
        scores = np.zeros(len(self.ids))
        for word, weight in words:
            holders = self.holders[word]
            idf = math.log(1 + (len(self.ids) - len(holders) + 0.5) / (len(holders) + 0.5))
            for row in holders:
                often = self.words[row][word]
                scores[row] += weight * idf * often / (often + K1)
        return scores


@dataclass(frozen=True)
class Question:
    """A question, what is right, and what the lane of words found."""

    text: str
    right: Mapping[str, int]
    vector: np.ndarray
    words: Scores


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, default=300)
    chosen = parser.parse_args()
    os.environ["KG_CONCEPTS__EXTRACTOR"] = "none"
    embedder = open_embedder(load_settings())
    with stack() as running, running.client() as client:
        found = {
            questions.name: _run(running, client, embedder, questions, chosen.questions)
            for questions in map(read_set, chosen.sets)
        }
    print(json.dumps({"machine": machine(), "ndcg@10, recall@10": found}, indent=2))


def _run(
    running: Stack, client: KgClient, embedder: Embedder, questions: QuestionSet, most: int
) -> dict[str, tuple[float, float]]:
    ingest_set(client, questions)
    last = str(last_document(running.home.path))
    running.kg("ingest", last, "--ontology", questions.name, "--wait", "--json")
    passages = _passages(stored_vectors(running, questions.name))
    documents: dict[str, str] = {}
    scored: dict[str, list[tuple[float, float]]] = defaultdict(list)
    asked = list(questions.queries)
    random.Random(7).shuffle(asked)
    for query in asked[:most]:
        hits = client.search_sources(query.text, ontology=questions.name, limit=100, explain=True).sources
        documents |= {hit.source_id: hit.document for hit in hits}
        lanes = {
            hit.source_id: part.score
            for hit in hits
            for part in (hit.explanation.lanes if hit.explanation else ())
            if part.lane == "text"
        }
        vector = np.asarray(embedder.embed_query(query.text), dtype=np.float32).reshape(-1)
        question = Question(query.text, query.relevant, vector, _best(lanes))
        for way, ranked in _rankings(passages, question):
            scored[way].append(_score(question.right, ranked, documents))
    return {way: _mean(each) for way, each in scored.items()}


def _passages(stored: Sequence[Mapping[str, Any]]) -> Passages:
    with_vectors = [each for each in stored if each["vector"] is not None]
    vectors = np.array([each["vector"] for each in with_vectors], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = [Counter(_words(each["text"])) for each in with_vectors]
    return Passages([each["id"] for each in with_vectors], vectors, words)


def _rankings(passages: Passages, question: Question) -> Iterator[tuple[str, list[str]]]:
    cosines = passages.vectors @ question.vector
    first = _fused(passages, cosines, question.words)
    yield "text", list(question.words)
    yield "vector", list(passages.nearest(cosines))
    yield "hybrid", first
    for hits, weight in ROCCHIO:
        moved = question.vector + weight * passages.mean_vector(first[:hits])
        moved_cosines = passages.vectors @ (moved / np.linalg.norm(moved))
        yield f"Rocchio {hits} hits, {weight}", _fused(passages, moved_cosines, question.words)
    for hits, count, weight in RM3 if question.words else ():
        more = passages.bm25(passages.telling_words(first[:hits], question.text, count))
        words = _with_more(passages, question.words, more, weight)
        yield f"RM3 {hits} hits, {count} words, {weight}", _fused(passages, cosines, words)


def _fused(passages: Passages, cosines: np.ndarray, words: Scores) -> list[str]:
    near = passages.nearest(cosines)
    further = {
        each: float(cosines[passages.rows[each]])
        for each in words
        if each in passages.rows and each not in near
    }
    return list(fuse([LaneScores("vector", near, further, USUAL), LaneScores("text", words)]))


def _with_more(passages: Passages, words: Scores, more: np.ndarray, weight: float) -> Scores:
    """The lane of words with what further words add to it."""
    candidates = {**{passages.ids[row]: 0.0 for row in map(int, np.argsort(-more)[:BEST])}, **words}
    scale = weight * max(words.values()) / (float(more.max()) or 1)
    known = {each: score for each, score in candidates.items() if each in passages.rows}
    return _best({each: score + scale * float(more[passages.rows[each]]) for each, score in known.items()})


def _score(
    right: Mapping[str, int], ranked: Sequence[str], documents: Mapping[str, str]
) -> tuple[float, float]:
    """Give nDCG@10 and recall@10 over documents, each by its first source."""
    first = list(dict.fromkeys(documents[each] for each in ranked if each in documents))[:10]
    return discounted_gain(right, first), len(set(first) & set(right)) / len(right)


def _mean(scores: Sequence[tuple[float, float]]) -> tuple[float, float]:
    gains, recalls = zip(*scores, strict=True)
    return round(100 * statistics.mean(gains), 1), round(100 * statistics.mean(recalls), 1)


def _best(scores: Scores) -> Scores:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:BEST])


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


if __name__ == "__main__":
    main()
