"""A collection of chunks, exact search by meaning, BM25, and kg's own fusion of both."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.search import fuse_by_reciprocal_rank
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.schemas.documents import ParsedDocument
from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import ChunkSpan, Paragraph
from kg_api.text.chunking import fit_chunks, split_to_chunks
from kg_api.text.contexts import add_context, fill_usual_template
from kg_api.text.sentence_vectors import open_sentence_vectors
from kg_api.text.sources import split

LANE = 50
"""Chunks that each list brings to the fusion, as in kg's search."""
K1, B = 1.2, 0.75
_STOPS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these "
    "they this to was will with"
)
_STOP_WORDS = frozenset(_STOPS.split())
_ENDINGS = ("ing", "ed", "es", "s", "ly")
_SHORTEST_STEM = 3

Ranking = list[list[int]]
"""For each question the chunks by number, the best first."""


@dataclass(frozen=True)
class Chunked:
    """All chunks of all documents: one collection."""

    corpus: list[str]
    spans: list[ChunkSpan]
    texts: list[str]
    """As they are embedded, context included."""

    @classmethod
    def of(cls, documents: dict[str, ParsedDocument], chunking: Chunking, embedder: LocalEmbedder) -> Chunked:
        """Chunk all documents so that each chunk fits the model."""
        chunked = cls([], [], [])
        vectors = open_sentence_vectors() if chunking.strategy == "semantic" else None
        for name, document in documents.items():
            paragraphs = [Paragraph(span.start, span.end, span.heading) for span in split(document)]
            before = context_of(document, paragraphs, chunking)
            spans = split_to_chunks(document.text, paragraphs, chunking, vectors)
            for span in fit_chunks(document.text, spans, embedder.spans, before):
                chunked.corpus.append(name)
                chunked.spans.append(span)
                chunked.texts.append(add_context(before(span), document.text[span.start : span.end]))
        return chunked


def context_of(
    document: ParsedDocument, paragraphs: Sequence[Paragraph], chunking: Chunking
) -> Callable[[ChunkSpan], str]:
    """What stands before each chunk; the corpora have no metadata."""
    starts = [paragraph.start for paragraph in paragraphs]

    def before(span: ChunkSpan) -> str:
        if chunking.context == "none":
            return ""
        heading = paragraphs[bisect_right(starts, span.start) - 1].heading
        return fill_usual_template(document.title, heading, {}, document.text[span.start : span.end])

    return before


class Vectors:
    """One model's vectors, each text embedded once; kept in a file when one is given."""

    def __init__(self, embedder: LocalEmbedder, folder: Path | None) -> None:
        self.embedder = embedder
        path = ":memory:" if folder is None else str(folder / f"{embedder.identity.model}.db")
        self._store = sqlite3.connect(path)
        self._store.execute("CREATE TABLE IF NOT EXISTS v (k BLOB PRIMARY KEY, v BLOB)")

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        return self._get("P", texts, self.embedder.embed_passages)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        return self._get(
            "Q", texts, lambda missing: np.stack([self.embedder.embed_query(text) for text in missing])
        )

    def _get(
        self, kind: str, texts: Sequence[str], embed: Callable[[list[str]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        keys = [hashlib.sha256((kind + text).encode()).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._find(key) is None}
        if missing:
            rows = zip(missing, (row.tobytes() for row in embed(list(missing.values()))), strict=True)
            self._store.executemany("INSERT INTO v VALUES (?, ?)", rows)
            self._store.commit()
        return np.stack([np.frombuffer(self._find(key) or b"", dtype=np.float32) for key in keys])

    def _find(self, key: bytes) -> bytes | None:
        row = self._store.execute("SELECT v FROM v WHERE k = ?", (key,)).fetchone()
        return row[0] if row else None


def by_meaning(vectors: Vectors, chunked: Chunked, questions: Sequence[str]) -> Ranking:
    """By exact cosine."""
    return best(vectors.queries(questions) @ vectors.passages(chunked.texts).T)


def by_words(chunked: Chunked, questions: Sequence[str]) -> Ranking:
    """By BM25; a chunk without a word of the question is not found."""
    scores = bm25(chunked, questions)
    return [[each for each in found if scores[at, each] > 0] for at, found in enumerate(best(scores))]


def bm25(chunked: Chunked, questions: Sequence[str]) -> NDArray[np.float32]:
    """Scores with Lucene's constants, English stop words and a plain stemmer, shape (questions, chunks)."""
    counts = [Counter(stems(text)) for text in chunked.texts]
    lengths = np.array([count.total() for count in counts], dtype=np.float64)
    postings = defaultdict[str, list[tuple[int, int]]](list)
    for at, count in enumerate(counts):
        for stem, times in count.items():
            postings[stem].append((at, times))
    scores = np.zeros((len(questions), len(counts)), dtype=np.float32)
    for at, question in enumerate(questions):
        for stem in filter(postings.__contains__, stems(question)):
            where, times = np.array(postings[stem]).T
            rarity = np.log(1 + (len(counts) - len(where) + 0.5) / (len(where) + 0.5))
            shares = times / (times + K1 * (1 - B + B * lengths[where] / lengths.mean()))
            scores[at, where] += rarity * shares
    return scores


def fused(meaning: Ranking, words: Ranking) -> Ranking:
    """By reciprocal rank, as kg's search fuses."""
    pairs = zip(meaning, words, strict=True)
    lanes = [{"meaning": [f"{n:06}" for n in one], "words": [f"{n:06}" for n in two]} for one, two in pairs]
    return [[int(name) for name in fuse_by_reciprocal_rank(each.values())] for each in lanes]


def stems(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"\w+", text.lower()) if word not in _STOP_WORDS]


def stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def best(scores: NDArray[np.float32]) -> Ranking:
    """The best of each row; equal ones in their order."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :LANE].tolist()
