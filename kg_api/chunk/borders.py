"""Where a text may be cut inside a sentence: at clauses, words and, where no space comes, characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from kg_api.chunk.spans import Span

_STOPS = "、。，．！？；：｡､।॥"
"""Marks that end a word where no space follows."""
_ON_TOP = "\u0300-\u036f\u20d0-\u20f0\ufe00-\ufe0f\u200d"
"""What joins the character before it, be it a stop."""
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
