"""What a page is made of: pieces of text with their places, joined to lines. y grows upwards, as in PDF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kg_api.convert.pdf.letters import are_cjk
from kg_api.convert.pdf.scripts import SizedText, write_scripts

_SPACE, _OVERLAP = 0.15, 0.5
"""Of the font size: what is between two pieces of one word at most."""
CJK_BLANK = 0.8
"""Of the font size: less is no blank between letters of scripts that have none between words."""
ASCENT, DESCENT = 0.75, 0.22
"""Of the font size: every line is taken to be so high, whatever its font claims."""


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word that OCR read."""

    text: str
    box: tuple[float, float, float, float]
    """Left, top, right and bottom, from 0 to 1 of the page from its upper left corner."""
    confidence: float


@dataclass(slots=True)
class TextRun:
    """Text on one baseline without a wide gap in it: a line of a column, or a cell of a table's row."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: float = 0
    """How much of it is bold."""
    mono: bool = False
    from_right: bool = False
    """It is written from right to left."""
    words: tuple[PageWord, ...] = ()
    """Where OCR read it."""
    unmapped: int = 0
    """Number of its characters for which the file names no letter."""

    @property
    def top(self) -> float:
        return self.baseline + ASCENT * self.size

    @property
    def bottom(self) -> float:
        return self.baseline - DESCENT * self.size


class FoundRun(NamedTuple):
    """Text as it is found on a page."""

    turn: int
    """Quarters against the clock in which it is written."""
    run: TextRun
    is_annotation: bool = False


@dataclass
class Column:
    """A part of a page that is read line by line."""

    left: float
    right: float
    lines: list[Line] = field(default_factory=list["Line"])

    @property
    def width(self) -> float:
        return self.right - self.left

    @cached_property
    def is_ragged(self) -> bool:
        """Few of its lines are full: they are no running text, each stands for itself, as in an index."""
        full = sum(line.right > self.right - 0.2 * self.width for line in self.lines)
        return len(self.lines) > 8 and full < 0.3 * len(self.lines)  # noqa: PLR2004


@dataclass
class Line:
    """The pieces of a column that stand on one baseline, in reading order."""

    pieces: list[TextRun]
    page: int
    column: Column

    @cached_property
    def main(self) -> TextRun:
        """The piece that says most: its size and baseline are the line's."""
        return max(self.pieces, key=lambda piece: len(piece.text))

    @cached_property
    def left(self) -> float:
        return min(piece.left for piece in self.pieces)

    @cached_property
    def right(self) -> float:
        return max(piece.right for piece in self.pieces)

    @property
    def size(self) -> float:
        return self.main.size

    @property
    def baseline(self) -> float:
        return self.main.baseline

    @cached_property
    def bold(self) -> bool:
        letters = sum(len(piece.text) for piece in self.pieces)
        return sum(len(piece.text) * piece.bold for piece in self.pieces) > 0.6 * letters

    @cached_property
    def all_bold(self) -> bool:
        """Every letter of it is bold."""
        return all(piece.bold > 0.95 for piece in self.pieces)  # noqa: PLR2004  # but for a mark

    @cached_property
    def mono(self) -> bool:
        """All of it has one width for every letter."""
        return all(piece.mono for piece in self.pieces)

    @cached_property
    def ends_in_page_number(self) -> bool:
        """It is a line of a table of contents: at its end stands a number by itself."""
        last = self.pieces[-1]
        apart = len(self.pieces) > 1 and last.left - self.pieces[-2].right > 1.5 * last.size
        return apart and last.text.isdecimal()

    @cached_property
    def text(self) -> str:
        words: list[list[TextRun]] = []
        for piece in self.pieces:
            if words and not piece.from_right and _is_one_word(words[-1][-1], piece):
                words[-1].append(piece)
            else:
                words.append([piece])
        return " ".join(_join(word) for word in words)


def _join(pieces: Sequence[TextRun]) -> str:
    if len(pieces) == 1:
        return pieces[0].text
    return "".join(write_scripts([SizedText(each.text, each.baseline, each.size) for each in pieces]))


def rows(pieces: Iterable[TextRun]) -> list[list[TextRun]]:
    """Put together what stands on one baseline (raised and lowered too), from the top and the left."""
    found: list[list[TextRun]] = []
    mains: list[TextRun] = []
    for piece in sorted(pieces, key=lambda piece: -piece.baseline):
        at = next(
            (i for i in range(len(mains) - 1, max(-1, len(mains) - 3), -1) if _beside(piece, mains[i])), -1
        )
        if at < 0:
            found.append([piece])
            mains.append(piece)
            continue
        found[at].append(piece)
        mains[at] = max(mains[at], piece, key=lambda piece: piece.right - piece.left)
    return [_in_order(row) for row in found]


def _beside(one: TextRun, other: TextRun) -> bool:
    overlap = min(one.top, other.top) - max(one.bottom, other.bottom)
    small = min(one.size, other.size) < 0.9 * max(one.size, other.size)  # raised or lowered, perhaps
    return overlap >= (0.25 if small else 0.5) * min(one.top - one.bottom, other.top - other.bottom)


def _is_one_word(last: TextRun, piece: TextRun) -> bool:
    size = max(piece.size, last.size)
    most = CJK_BLANK if are_cjk(last.text, piece.text) else _SPACE
    return -_OVERLAP * size < piece.left - last.right < most * size


def _in_order(row: list[TextRun]) -> list[TextRun]:
    if sum(piece.from_right for piece in row) * 2 > len(row):
        return sorted(row, key=lambda piece: -piece.right)
    return sorted(row, key=lambda piece: piece.left)
