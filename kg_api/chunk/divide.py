"""Cutting what is too long at the best borders it has, into pieces of about equal length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from unicodedata import category

from kg_api.chunk.borders import clause_borders, clusters, word_borders
from kg_api.chunk.spans import Span
from kg_api.parse.cut import Borders, Measure, cut, prose_levels
from kg_api.parse.lines import is_blank
from kg_api.parse.sentences import sentence_borders
from kg_api.parse.size import words

_FIRST_MARK, _JOINER = "\u0300", "\u200d"
_FINEST = 8
"""What the last level cuts, words without end, it cuts into parts of at most this share of a piece."""


def characters(text: str, start: int, end: int) -> int:
    """Count code points; `words` of kg_api.parse.size is the other measure."""
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
