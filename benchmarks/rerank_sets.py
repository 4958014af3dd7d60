"""Collections with judged questions, what kg's lanes find in them, and two ways to fuse that."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.chunk_retrieval import LANE, Chunked, Vectors, bm25
from benchmarks.chunking import Question
from benchmarks.chunking import load as load_spans
from kg_api.concepts.search import fuse_by_reciprocal_rank
from kg_api.schemas.documents import ParsedDocument
from kg_api.schemas.embedding import Chunking
from kg_api.text.documents import parse

PASSAGES = ":passages"
"""Behind the name of a set of which passages are the questions."""
LONG = 110
"""Words."""
Thing = tuple[str, int]
"""What is judged: a document, or a chunk of one by its start."""
Judge = Callable[[str, int, int], bool]
"""Whether a chunk (document, start, end) answers a question."""
Judged = tuple[dict[str, ParsedDocument], list[tuple[str, Judge]]]
"""Documents by name, and questions with who judges them."""
Fused = list[tuple[int, float]]
"""Chunks by number with their fused scores, the best first."""


@dataclass(frozen=True)
class Collection:
    """A set, cut into chunks."""

    name: str
    chunked: Chunked
    questions: list[str]
    judges: list[Judge]
    by_chunk: bool
    """Whether chunks are judged, or the documents that they lie in."""

    def thing(self, chunk: int) -> Thing:
        """What is judged of a chunk."""
        span = self.chunked.spans[chunk]
        return self.chunked.corpus[chunk], span.start if self.by_chunk else 0

    def answers(self, question: int, chunk: int) -> bool:
        """Whether a chunk answers a question."""
        span = self.chunked.spans[chunk]
        return self.judges[question](self.chunked.corpus[chunk], span.start, span.end)

    def wanted(self, question: int) -> int:
        """How many things answer a question."""
        chunks = range(len(self.chunked.spans))
        return len({self.thing(chunk) for chunk in chunks if self.answers(question, chunk)})


def load(folder: Path, name: str, most: int, vectors: Vectors) -> Collection:
    """A set with at most so many of its questions, always the same ones."""
    by_chunk = name == "chroma_chunking"
    read = _spans if by_chunk else _passages if name.endswith(PASSAGES) else _documents
    documents, judged = read(folder / name.removesuffix(PASSAGES))
    taken = random.Random(17).sample(judged, min(most, len(judged)))
    chunked = Chunked.of(documents, Chunking(), vectors.embedder)
    return Collection(name, chunked, [text for text, _ in taken], [judge for _, judge in taken], by_chunk)


def _spans(folder: Path) -> Judged:
    questions, documents = load_spans(folder)
    return documents, [(question.text, _touching(question)) for question in questions]


def _touching(question: Question) -> Judge:
    def judge(document: str, start: int, end: int) -> bool:
        return document == question.corpus and any(a < end and start < b for a, b in question.references)

    return judge


def _passages(folder: Path) -> Judged:
    """Each article's first paragraph asks for its other ones: the long question of a set that has none."""
    articles = defaultdict[str, list[dict[str, str]]](list)
    for line in _lines(folder / "corpus.jsonl"):
        articles[line["title"]].append(line)
    others = {line["_id"]: parse(line["text"], "a.txt") for lines in articles.values() for line in lines[1:]}
    asked = [(lines[0]["text"], _among({line["_id"] for line in lines[1:]})) for lines in articles.values()]
    return others, [(" ".join(text.split()[:LONG]), judge) for text, judge in asked]


def _documents(folder: Path) -> Judged:
    right = defaultdict[str, set[str]](set)
    for row in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        question, document, score = row.split("\t")
        if int(score) > 0:
            right[question].add(document)
    documents = {line["_id"]: parse(line["text"], "a.txt") for line in _lines(folder / "corpus.jsonl")}
    asked = [line for line in _lines(folder / "queries.jsonl") if line["_id"] in right]
    return documents, [(line["text"], _among(right[line["_id"]])) for line in asked]


def _among(right: set[str]) -> Judge:
    return lambda document, _start, _end: document in right


def _lines(path: Path) -> Iterator[dict[str, str]]:
    for line in path.read_text("utf-8").splitlines():
        yield json.loads(line)


def lanes(collection: Collection, vectors: Vectors) -> Iterator[tuple[Fused, Fused]]:
    """For each question what vectors and what words find, with cosines and BM25 scores."""
    meaning = vectors.queries(collection.questions) @ vectors.passages(collection.chunked.texts).T
    words = bm25(collection.chunked, collection.questions)
    for one, other in zip(meaning, words, strict=True):
        yield _best(one), _best(other)


def by_rank(meaning: Fused, words: Fused) -> Fused:
    """Reciprocal rank fusion, kg's own."""
    ranked = {"meaning": meaning, "words": words}
    names = {lane: [f"{chunk:06}" for chunk, _ in found] for lane, found in ranked.items()}
    return [(int(name), score) for name, score in fuse_by_reciprocal_rank(names.values()).items()]


def by_score(meaning: Fused, words: Fused) -> Fused:
    """The sum of z-scores above the lane's lowest."""
    joined = defaultdict[int, float](float)
    for lane in filter(None, (meaning, words)):
        scores = np.array([score for _, score in lane])
        standard = (scores - scores.min()) / (scores.std() or 1)
        for (chunk, _), score in zip(lane, standard.tolist(), strict=True):
            joined[chunk] += score
    return sorted(joined.items(), key=lambda pair: (-pair[1], pair[0]))


def _best(scores: NDArray[np.float32]) -> Fused:
    first = np.argsort(-scores, kind="stable")[:LANE].tolist()
    return [(chunk, float(scores[chunk])) for chunk in first if scores[chunk] > 0]
