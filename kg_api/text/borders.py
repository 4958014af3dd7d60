"""Cutting a text at sentences, clauses, words and characters as a reader sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from unicodedata import category

import numpy as np
import regex
from numpy.typing import NDArray

from kg_api.text.cutting import Borders, Measure, cut, prose_levels, words
from kg_api.text.lines import is_blank
from kg_api.text.sentences import sentence_borders

Span = tuple[int, int]  # (start, end) in code points, end excluded
SentenceVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Vectors of length 1, shape (sentences, dimensions), that tell where the meaning moves."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One source's place. The paragraphs of a document join to its whole text."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    """The path of headings above it, the highest first; paragraphs of one section have the same."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """One chunk: text[start:end], no blank at either end."""

    start: int
    end: int
    parent: tuple[int, int] | None = None
    """The span that is given to the reader in its place; `hierarchical` only."""


_STOPS = "、。，．！？；：｡､।॥"  # marks that end a word where no space follows
_ON_TOP = "\u0300-\u036f\u20d0-\u20f0\ufe00-\ufe0f\u200d"  # what joins the character before it, be it a stop
_WORD = re.compile(rf"[^\s{_STOPS}]+[{_STOPS}{_ON_TOP}]*|[{_STOPS}][{_STOPS}{_ON_TOP}]*")
_CLAUSE = re.compile(r"[,;:–—،؛]\s+|[，、；：､]\s*")
_CLUSTER = regex.compile(r"\X")
_MAX_CLUSTER_LENGTH = 24
"""Code points. The longest emoji has ten; above this somebody stacks marks without end."""


def find_words(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the words of text[start:end], without the white space between them."""
    return (word.span() for word in _WORD.finditer(text, start, end))


def word_borders(text: str, start: int, end: int) -> Iterator[int]:
    """At the beginning of each word."""
    return (begin for begin, _ in find_words(text, start, end) if begin > start)


def clause_borders(text: str, start: int, end: int) -> Iterator[int]:
    """After commas, colons, semicolons and dashes."""
    return (border for found in _CLAUSE.finditer(text, start, end) if (border := found.end()) < end)


def clusters(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    """Cut text[start:end] between characters as a reader sees them.

    The pieces have at most `longest` code points, or are one such character of at most 24.
    """
    begin = start
    for cluster in _CLUSTER.finditer(text, start, end):
        if cluster.end() - begin > longest and cluster.start() > begin:
            yield begin, cluster.start()
            begin = cluster.start()
        while cluster.end() - begin > max(longest, _MAX_CLUSTER_LENGTH):
            yield begin, begin + _MAX_CLUSTER_LENGTH
            begin += _MAX_CLUSTER_LENGTH
    if begin < end:
        yield begin, end


_FIRST_MARK, _JOINER = "\u0300", "\u200d"
_FINEST = 8
"""What the last level cuts, words without end, it cuts into parts of at most this share of a piece."""


def characters(text: str, start: int, end: int) -> int:
    """Count code points; `words` of kg_api.text.sources is the other measure."""
    del text
    return end - start


def divide(text: str, span: Span, measure: Measure, most: int) -> list[Span]:
    """Cut text[start:end] into pieces of at most `most`, as even as good borders allow; they join to it.

    Sentences and lines are the best borders, then clauses, then words, then the characters of a word.
    """
    size = measure(text, *span)
    if size <= most:
        return [span]
    finest = max(1, most // _FINEST)  # characters; a word has two and more

    def cluster_borders(text: str, start: int, end: int) -> Iterator[int]:
        return (begin for begin, _ in clusters(text, start, end, finest) if begin > start)

    prose = prose_levels(text, *span, words(text, *span))[:2]  # lines and sentences, the better first
    better = (_unbroken(kind) for kind in (*prose, clause_borders, word_borders))
    return cut(text, span, size, (*better, cluster_borders), above=most, most=most, measure=measure)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the sentences of text[start:end]; they join to it."""
    return pairwise(chain((start,), _unbroken(sentence_borders)(text, start, end), (end,)))


def trim(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends; None when there is nothing to see in it."""
    if is_blank(text, start, end):
        return None
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _unbroken(borders: Borders) -> Borders:
    """Leave out the borders before a mark that is written on the character before it."""

    def kept(text: str, start: int, end: int) -> Iterator[int]:
        return (at for at in borders(text, start, end) if not _joins(text, at))

    return kept


def _joins(text: str, at: int) -> bool:
    character = text[at]
    return (
        character >= _FIRST_MARK
        and (category(character)[0] == "M" or character == _JOINER)
        and not text[at - 1].isspace()
    )
