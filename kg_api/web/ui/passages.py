"""Passages as a page shows them: what of their text, with the words of the question marked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kg_api.models.queries.places import WordMatch
from kg_api.models.queries.search import SourceHit
from kg_api.web.ui.wording import ordinal

SHOWN_CHARACTERS: Final = 500
"""Of a longer passage a hit shows so many, and says so; reading shows all."""
BEFORE: Final = 120
"""Characters before the first word of the question."""


class MarkedPiece(NamedTuple):
    """A part of a text."""

    text: str
    matched: bool
    """Whether it is a word of the question."""


class Excerpt(NamedTuple):
    """What a hit shows of its passage."""

    pieces: list[MarkedPiece]
    cut_before: bool
    cut_after: bool


def pieces_of(
    text: str, matches: Sequence[WordMatch], start: int = 0, end: int | None = None
) -> list[MarkedPiece]:
    """A text from `start` to `end`, divided at the words of the question; offsets are code points."""
    end = len(text) if end is None else end
    pieces, at = list[MarkedPiece](), start
    for match in sorted(matches, key=lambda each: each.start):
        first, last = max(match.start, at), min(match.end, end)
        if first < last:
            pieces += [
                MarkedPiece(text[at:first], matched=False),
                MarkedPiece(text[first:last], matched=True),
            ]
            at = last
    return [each for each in [*pieces, MarkedPiece(text[at:end], matched=False)] if each.text]


def excerpt(hit: SourceHit) -> Excerpt:
    """A short passage whole; of a long one what stands around the first word of the question."""
    text = hit.full_text
    if len(text) <= SHOWN_CHARACTERS:
        return Excerpt(pieces_of(text, hit.matches), cut_before=False, cut_after=False)
    first = min((each.start for each in hit.matches), default=0)
    start = _word_at(text, min(max(0, first - BEFORE), len(text) - SHOWN_CHARACTERS))
    end = min(len(text), start + SHOWN_CHARACTERS)
    return Excerpt(pieces_of(text, hit.matches, start, end), start > 0, end < len(text))


def opening(text: str, characters: int) -> str:
    """How a text begins, on one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    cut = line[: characters + 1]
    return f"{cut.rpartition(' ')[0] or cut[:-1]} …"


def reasons(hit: SourceHit) -> list[str]:
    """Why it was found, each in a few words: by what, and at which place there."""
    told = [("by meaning", hit.ranks.vector), ("by words", hit.ranks.text)]
    told += [("through concepts", hit.ranks.concepts), ("as a picture", hit.ranks.pictures)]
    places = [f"{ordinal(rank)} {lane}" for lane, rank in told if rank is not None]
    near = [] if hit.similarity is None else [f"similarity {hit.similarity:.2f}"]
    return [*places, *near]


def _word_at(text: str, at: int) -> int:
    """Behind the next space, where one is near."""
    space = text.find(" ", at, at + BEFORE // 2) if at else -1
    return at if space < 0 else space + 1
