"""Cutting a Markdown text into queries: pieces of a bounded number of tokens, on paragraph borders. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import ceil

from kg_api.chunk.divide import divide, sentences, trim
from kg_api.models.vocabulary import MAX_QUERY_CHARACTERS
from kg_api.parse.cut import Measure
from kg_api.parse.documents import parse
from kg_api.parse.lines import is_blank
from kg_api.parse.split import split

Span = tuple[int, int]
Sized = tuple[Span, int]


def cut(text: str, count: Callable[[str], int], most: int, overlap: int) -> list[Span]:
    """Cut a text into pieces of at most `most` tokens and of as many characters as a query may have.

    Pieces consist of whole paragraphs, as an ingested document's; one that is too long is cut between its
    sentences, then clauses, then words. The end of a piece, of at most `overlap` tokens, stands at the
    beginning of the next one too: whole paragraphs where they fit, else sentences.

    Args:
        text: Markdown, or plain text.
        count: tokens of a text; of a joined one never more than of its parts together.
        most: tokens of a piece.
        overlap: at most half of `most`.

    Returns:
        (start, end) in code points, in order. Together they hold every visible character; none is blank.
    """
    characters = most / MAX_QUERY_CHARACTERS  # some tokenizers make one token of a thousand characters

    def measure(text: str, start: int, end: int) -> int:
        return max(count(text[start:end]), ceil((end - start) * characters))

    paragraphs = split(parse(text, "text", "markdown"))
    room = most - overlap
    parts = (part for each in paragraphs for part in divide(text, (each.start, each.end), measure, room))
    sized = [(part, measure(text, *part)) for part in parts]
    pieces = (trim(text, *piece) for piece in _pieces(text, sized, measure, most, overlap))
    return [piece for piece in pieces if piece]


def _pieces(text: str, parts: Sequence[Sized], measure: Measure, most: int, overlap: int) -> Iterator[Span]:
    begin, filled = 0, 0
    for at, ((start, _), size) in enumerate(parts):
        if at and filled + size > most:
            yield begin, start
            before = _backwards(text, parts[:at], measure, overlap)
            begin, filled = _tail(before, start, min(overlap, most - size))
        filled += size
    if parts:
        yield begin, parts[-1][0][1]


def _tail(backwards: Iterator[Sized], end: int, most: int) -> tuple[int, int]:
    """Where the text of at most `most` before `end` begins, and its size."""
    begin, filled = end, 0
    for (start, _), size in backwards:
        if filled + size > most:
            break
        begin, filled = start, filled + size
    return begin, filled


def _backwards(text: str, parts: Sequence[Sized], measure: Measure, most: int) -> Iterator[Sized]:
    """Parts from the last one on; where the last that says something is too long, its sentences."""
    said = next(at for at in reversed(range(len(parts))) if not at or not is_blank(text, *parts[at][0]))
    if parts[said][1] <= most:
        return reversed(parts)
    spans = list(sentences(text, *parts[said][0]))
    return chain(reversed(parts[said + 1 :]), ((span, measure(text, *span)) for span in reversed(spans)))
