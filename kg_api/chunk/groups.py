"""Paragraphs of one section, together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kg_api.chunk.divide import divide, trim
from kg_api.chunk.spans import Paragraph, Span
from kg_api.parse.size import words

SLACK = 1.2
"""A section of up to this times the size stays one chunk, and so much has room where it must."""


def by_group(text: str, paragraphs: Sequence[Paragraph], size: int, overlap: int) -> Iterator[Span]:
    """Join the paragraphs of a section to chunks of at most `size` words.

    With `overlap` the last paragraph of several is the first of the next chunk too, where it has room with
    the paragraph that follows. A paragraph of more than 1.2 times the size is cut, at sentences.
    """
    for _, section in groupby(paragraphs, key=lambda paragraph: paragraph.heading):
        yield from _section(_parts(text, section, round(size * SLACK)), size, overlap)


def _parts(text: str, section: Iterator[Paragraph], most: int) -> list[tuple[Span, int]]:
    """Paragraphs and pieces of long ones, with their words; nothing blank."""
    pieces = (piece for each in section for piece in divide(text, (each.start, each.end), words, most))
    seen = filter(None, (trim(text, *piece) for piece in pieces))
    return [(piece, words(text, *piece)) for piece in seen]


def _section(parts: list[tuple[Span, int]], size: int, overlap: int) -> Iterator[Span]:
    most = round(size * SLACK)
    if not parts:
        return
    (start, _), (_, end) = parts[0][0], parts[-1][0]
    if sum(part for _, part in parts) <= most:
        yield start, end
        return
    first, filled = 0, 0
    for at, (_, part) in enumerate(parts):
        if at > first and filled + part > size:
            yield parts[first][0][0], parts[at - 1][0][1]
            repeat = overlap and at - first > 1 and parts[at - 1][1] + part <= most
            first = at - 1 if repeat else at
            filled = parts[first][1] if repeat else 0
        filled += part
    yield parts[first][0][0], end
