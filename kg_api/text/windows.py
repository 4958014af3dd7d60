"""Windows of neighboring chunks that a model embeds together (context mode `late`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from kg_api.text.borders import ChunkSpan, Paragraph, Span

WINDOW_VERSION = "1"  # version of the windows of a text and of their vectors
MIN_FILL = 2
"""Every window except the last is filled to at least 1 / MIN_FILL, to leave a choice of boundaries."""
CHARACTERS = 50  # characters that count as one token or more, to limit windows of text without tokens


@dataclass(frozen=True, slots=True)
class Room:
    """Context length of a model."""

    tokens: Callable[[str], int]  # counts the tokens of a text, without prefix and special tokens
    most: int  # maximum tokens of a window
    fits: Callable[[str], bool]  # returns whether the model embeds a text without truncation


def find_windows(
    text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph], room: Room
) -> list[Span]:
    """Return the window of each chunk. Chunks of one window have equal entries.

    A window consists of consecutive chunks and the text between them. It ends with a section if possible,
    otherwise with a paragraph, otherwise with a chunk. Of several equal boundaries, the window ends after the
    chunk with the largest hash, so an edit only changes boundaries near it.
    """
    ends, sizes = _Ends(text, spans, paragraphs), _measure_chunks(text, spans, room)
    found: list[Span] = []
    while len(found) < len(spans):
        first = len(found)
        last = _find_last(ends, sizes, first, room.most)
        while last > first and not room.fits(text[slice(*_join_spans(spans, first, last))]):
            last -= 1  # some texts have more tokens together than separately
        found += [_join_spans(spans, first, last)] * (last + 1 - first)
    return found


class _Ends:
    """Ranking of window boundaries."""

    def __init__(self, text: str, spans: Sequence[ChunkSpan], paragraphs: Sequence[Paragraph]) -> None:
        self._text = text
        self._spans = spans
        self._paragraphs = paragraphs
        self._starts = [paragraph.start for paragraph in paragraphs]

    def rank(self, at: int) -> tuple[bool, bool, bytes]:
        """Return the rank of the boundary after a chunk (higher is better)."""
        span, following = self._spans[at], self._spans[at + 1]
        here = bisect_left(self._starts, span.end) - 1
        there = bisect_left(self._starts, following.start + 1) - 1
        span_bytes = self._text[span.start : span.end].encode(errors="replace")
        return (
            self._find_heading(here) != self._find_heading(there),
            here != there,
            blake2b(span_bytes).digest(),
        )

    def _find_heading(self, at: int) -> tuple[str, ...]:
        return self._paragraphs[at].heading


def _find_last(ends: _Ends, sizes: Sequence[Span], first: int, most: int) -> int:
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
    return max(range(min(enough, last), last + 1), key=ends.rank)


def _measure_chunks(text: str, spans: Sequence[ChunkSpan], room: Room) -> list[Span]:
    """Return the tokens of each chunk, and those before the next chunk begins."""
    sizes: list[Span] = []
    for at, span in enumerate(spans):
        whole = _measure_text(text[span.start : span.end], room)
        overlaps = at + 1 < len(spans) and spans[at + 1].start < span.end
        sizes.append(
            (whole, _measure_text(text[span.start : spans[at + 1].start], room) if overlaps else whole)
        )
    return sizes


def _measure_text(text: str, room: Room) -> int:
    return max(room.tokens(text), len(text) // CHARACTERS, 1)


def _join_spans(spans: Sequence[ChunkSpan], first: int, last: int) -> Span:
    return spans[first].start, max(span.end for span in spans[first : last + 1])
