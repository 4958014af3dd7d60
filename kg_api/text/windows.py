"""Neighbouring chunks joined to windows, which a model reads as a whole (context mode `late`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from kg_api.text.borders import ChunkSpan, Paragraph, Span

WINDOW_VERSION = "1"
"""Another version means other windows from the same text, or other vectors from the same window."""
MIN_FILL = 2
"""A window but the last is filled to at least 1 / MIN_FILL, so that there is a choice where it ends."""
CHARACTERS = 50  # so many count as a token at least: of what has no tokens a window is not to be endless


@dataclass(frozen=True, slots=True)
class Room:
    """How much a model reads at once."""

    tokens: Callable[[str], int]  # of a text, without prefix and special tokens
    most: int  # tokens of a window
    fits: Callable[[str], bool]  # whether the model takes a text whole, to the token


def windows(text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph], room: Room) -> list[Span]:
    """Give each chunk the window that it is embedded in.

    A window is consecutive chunks and what is between them. It ends with a section if it can, else with a
    paragraph, else with a chunk; of several such places it is the one whose chunk has the largest hash: so an
    edit moves the borders that are near, and not all that follow.

    Args:
        text: the whole text.
        spans: its chunks in order, each of which fits.
        paragraphs: its sources.
        room: the model's.

    Returns:
        As many as there are chunks; those of one window are equal.
    """
    ends, sizes = _Ends(text, spans, paragraphs), _sizes(text, spans, room)
    found: list[Span] = []
    while len(found) < len(spans):
        first = len(found)
        last = _last(ends, sizes, first, room.most)
        while last > first and not room.fits(text[slice(*_hull(spans, first, last))]):
            last -= 1  # some texts have more tokens together than one by one
        found += [_hull(spans, first, last)] * (last + 1 - first)
    return found


class _Ends:
    """How well a window ends behind a chunk."""

    def __init__(self, text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph]) -> None:
        self._text = text
        self._spans = spans
        self._paragraphs = paragraphs
        self._starts = [paragraph.start for paragraph in paragraphs]

    def quality(self, at: int) -> tuple[bool, bool, bytes]:
        """The better the larger."""
        span, following = self._spans[at], self._spans[at + 1]
        here = bisect_left(self._starts, span.end) - 1
        there = bisect_left(self._starts, following.start + 1) - 1
        said = self._text[span.start : span.end].encode(errors="replace")
        return self._heading(here) != self._heading(there), here != there, blake2b(said).digest()

    def _heading(self, at: int) -> tuple[str, ...]:
        return self._paragraphs[at].heading


def _last(ends: _Ends, sizes: Sequence[Span], first: int, most: int) -> int:
    """The chunk that a window ends with."""
    filled, last, enough = 0, first, first
    for at in range(first, len(sizes)):
        whole, until_next = sizes[at]
        if at > first and filled + whole > most:
            break
        last = at
        if (filled + whole) * MIN_FILL < most:
            enough = at + 1
        filled += until_next
    else:
        return last
    return max(range(min(enough, last), last + 1), key=ends.quality)


def _sizes(text: str, spans: Sequence[ChunkSpan], room: Room) -> list[Span]:
    """The tokens of each chunk, and those of it before the next one begins."""
    sizes: list[Span] = []
    for at, span in enumerate(spans):
        whole = _size(text[span.start : span.end], room)
        overlaps = at + 1 < len(spans) and spans[at + 1].start < span.end
        sizes.append((whole, _size(text[span.start : spans[at + 1].start], room) if overlaps else whole))
    return sizes


def _size(text: str, room: Room) -> int:
    return max(room.tokens(text), len(text) // CHARACTERS, 1)


def _hull(spans: Sequence[ChunkSpan], first: int, last: int) -> Span:
    return spans[first].start, max(span.end for span in spans[first : last + 1])
