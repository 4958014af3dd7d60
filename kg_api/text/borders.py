"""Boundaries of sentences, clauses, words, and characters for splitting a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from kg_api.text.cutting import Borders, Measure, build_prose_levels, count_words, cut, split_clusters
from kg_api.text.lines import is_blank
from kg_api.text.sentences import find_sentence_borders

Span = tuple[int, int]  # (start, end) in code points, end exclusive
SentenceVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Function that embeds sentences: float32 unit vectors, shape (sentences, dimensions)."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Position of one source. The paragraphs of a document cover the whole text."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    """Heading path, top level first. The paragraphs of one section have the same path."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Position of one chunk, without whitespace at its ends."""

    start: int
    end: int
    parent: tuple[int, int] | None = None
    """Span that search results show in place of the chunk (`hierarchical` only)."""


_STOPS = "、。，．！？；：｡､।॥"  # punctuation that ends a word without a following space
_ON_TOP = "\u0300-\u036f\u20d0-\u20f0\ufe00-\ufe0f\u200d"  # marks that combine with the previous character
_WORD = re.compile(rf"[^\s{_STOPS}]+[{_STOPS}{_ON_TOP}]*|[{_STOPS}][{_STOPS}{_ON_TOP}]*")
_CLAUSE = re.compile(r"[,;:–—،؛]\s+|[，、；：､]\s*")


def find_words(text: str, start: int, end: int) -> Iterator[Span]:
    """Find the words of text[start:end], without whitespace."""
    return (word.span() for word in _WORD.finditer(text, start, end))


def find_word_boundaries(text: str, start: int, end: int) -> Iterator[int]:
    return (begin for begin, _ in find_words(text, start, end) if begin > start)


def find_clause_borders(text: str, start: int, end: int) -> Iterator[int]:
    """Return the positions after commas, colons, semicolons, and dashes."""
    return (border for found in _CLAUSE.finditer(text, start, end) if (border := found.end()) < end)


_FIRST_MARK, _JOINER = "\u0300", "\u200d"
_FINEST = 8
"""Divisor of the piece size. The last level splits words into parts of at most this share of a piece."""


def count_characters(text: str, start: int, end: int) -> int:
    """Count code points. `count_words` of kg_api.text.cutting is the other measure."""
    del text
    return end - start


def divide(text: str, span: Span, measure: Measure, most: int) -> list[Span]:
    """Split a span into similar pieces of at most `most`: at sentences or lines, then clauses, then words."""
    size = measure(text, *span)
    if size <= most:
        return [span]
    finest = max(1, most // _FINEST)  # characters (a word has at least 2)

    def cluster_borders(text: str, start: int, end: int) -> Iterator[int]:
        return (begin for begin, _ in split_clusters(text, start, end, finest) if begin > start)

    prose = build_prose_levels(text, *span, count_words(text, *span))[
        :2
    ]  # lines and sentences, in the better order
    better = (_keep_clusters(kind) for kind in (*prose, find_clause_borders, find_word_boundaries))
    return cut(text, span, size, (*better, cluster_borders), above=most, most=most, measure=measure)


def split_sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of text[start:end], which cover the span."""
    return pairwise(chain((start,), _keep_clusters(find_sentence_borders)(text, start, end), (end,)))


def trim(text: str, start: int, end: int) -> Span | None:
    """Return the span without whitespace at its ends, or None for a blank span."""
    if is_blank(text, start, end):
        return None
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _keep_clusters(borders: Borders) -> Borders:
    """Remove boundaries before a mark that combines with the previous character."""

    def kept(text: str, start: int, end: int) -> Iterator[int]:
        for at in borders(text, start, end):
            mark = text[at] >= _FIRST_MARK and (category(text[at])[0] == "M" or text[at] == _JOINER)
            if not mark or text[at - 1].isspace():
                yield at

    return kept
