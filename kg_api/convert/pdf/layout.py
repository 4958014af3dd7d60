"""Lines and columns of a page, built from positioned pieces of text. As in PDF, y grows upwards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import NamedTuple

from kg_api.convert.pdf.letters import Box, SizedText, are_cjk, write_scripts

_SPACE, _OVERLAP = 0.15, 0.5  # in font sizes: limits for the gap between two pieces of a word
CJK_BLANK = 0.8  # in font sizes: a smaller gap is not a space in scripts without spaces
ASCENT, DESCENT = 0.75, 0.22  # in font sizes: assumed for every line, because values in fonts are unreliable


@dataclass(frozen=True, slots=True)
class PageWord:
    text: str
    box: tuple[float, float, float, float]
    """Left, top, right, and bottom as a share of the page, from the upper left corner."""
    confidence: float


Grid = Sequence[Box]
"""Cells of a ruled table."""


@dataclass(slots=True)
class TextRun:
    """Text on one baseline without a wide gap: a line of a column, or a table cell."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: float = 0  # bold share
    mono: bool = False
    from_right: bool = False  # right-to-left text
    is_mirrored: bool = False  # on a right-to-left page, with coordinates that grow to the left
    words: tuple[PageWord, ...] = ()  # with OCR only
    unmapped: int = 0  # characters without a letter in the file
    cells: Sequence[str] = ()  # texts of a row of a ruled table, with a line break after each line
    grid: Grid | None = None  # the ruled table of the row

    @property
    def top(self) -> float:
        return self.baseline + ASCENT * self.size

    @property
    def bottom(self) -> float:
        return self.baseline - DESCENT * self.size


def mirror(pieces: Sequence[TextRun]) -> list[TextRun]:
    """Mirror the pieces of a right-to-left page, so that its layout is that of other pages."""
    return [replace(piece, left=-piece.right, right=-piece.left, is_mirrored=True) for piece in pieces]


class FoundRun(NamedTuple):
    turn: int  # counter-clockwise quarter turns
    run: TextRun


@dataclass
class Column:
    """Area of a page that is read line by line."""

    left: float
    right: float
    lines: list[Line] = field(default_factory=list["Line"])

    @property
    def width(self) -> float:
        return self.right - self.left

    @cached_property
    def is_ragged(self) -> bool:
        """Whether most lines are short and independent, as in an index."""
        full = sum(line.right > self.right - 0.2 * self.width for line in self.lines)
        return len(self.lines) > 8 and full < 0.3 * len(self.lines)  # noqa: PLR2004


@dataclass
class Line:
    """Pieces of a column on one baseline, in reading order."""

    pieces: list[TextRun]
    page: int
    column: Column

    @cached_property
    def main(self) -> TextRun:
        """The longest piece, which defines size and baseline of the line."""
        return max(self.pieces, key=lambda piece: len(piece.text))

    @cached_property
    def left(self) -> float:
        return min(piece.left for piece in self.pieces)

    @cached_property
    def right(self) -> float:
        return max(piece.right for piece in self.pieces)

    @property
    def grid(self) -> Grid | None:
        return self.pieces[0].grid if self.pieces else None

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
        return all(piece.bold > 0.95 for piece in self.pieces)  # noqa: PLR2004  # ignores a single mark

    @cached_property
    def mono(self) -> bool:
        return all(piece.mono for piece in self.pieces)

    @cached_property
    def ends_in_page_number(self) -> bool:
        """Whether the line ends in a separate number, as in a table of contents."""
        last = self.pieces[-1]
        apart = len(self.pieces) > 1 and last.left - self.pieces[-2].right > 1.5 * last.size
        return apart and last.text.isdecimal()

    @cached_property
    def text(self) -> str:
        words: list[list[TextRun]] = []
        for piece in self.pieces:
            is_forward = piece.is_mirrored or not piece.from_right
            if words and is_forward and _is_one_word(words[-1][-1], piece):
                words[-1].append(piece)
            else:
                words.append([piece])
        return " ".join(
            word[0].text
            if len(word) == 1
            else "".join(write_scripts([SizedText(each.text, each.baseline, each.size) for each in word]))
            for word in words
        )


def group_into_rows(pieces: Iterable[TextRun]) -> list[list[TextRun]]:
    """Group pieces by baseline, including superscripts and subscripts, from top to bottom."""
    found: list[list[TextRun]] = []
    mains: list[TextRun] = []
    for piece in sorted(pieces, key=lambda piece: -piece.baseline):
        at = next(
            (
                i
                for i in range(len(mains) - 1, max(-1, len(mains) - 3), -1)
                if _is_side_by_side(piece, mains[i])
            ),
            -1,
        )
        if at < 0:
            found.append([piece])
            mains.append(piece)
            continue
        found[at].append(piece)
        mains[at] = max(mains[at], piece, key=lambda piece: piece.right - piece.left)
    for row in found:
        words = [piece for piece in row if any(map(str.isalpha, piece.text))]
        is_mirrored = row[0].is_mirrored
        from_right = sum(piece.from_right for piece in words) * 2 > len(words) if words else is_mirrored
        if from_right == is_mirrored:
            row.sort(key=lambda piece: piece.left)
        else:
            row.sort(key=lambda piece: -piece.right)
    return found


def _is_side_by_side(one: TextRun, other: TextRun) -> bool:
    overlap = min(one.top, other.top) - max(one.bottom, other.bottom)
    small = min(one.size, other.size) < 0.9 * max(one.size, other.size)  # possibly a superscript or subscript
    return overlap >= (0.25 if small else 0.5) * min(one.top - one.bottom, other.top - other.bottom)


def _is_one_word(last: TextRun, piece: TextRun) -> bool:
    size = max(piece.size, last.size)
    most = CJK_BLANK if are_cjk(last.text, piece.text) else _SPACE
    return -_OVERLAP * size < piece.left - last.right < most * size


# Initials: a large first letter over several lines

_INITIAL_SIZE, _INITIAL_GAP = 1.8, 1.5  # in font sizes of the text beside the letter


def join_initials(pieces: Sequence[TextRun]) -> list[TextRun]:
    """Join large initials to the first of at least two lines beside them."""
    joined: dict[int, TextRun] = {}
    least = _INITIAL_SIZE * min((piece.size for piece in pieces), default=0)
    single = (piece for piece in pieces if len(piece.text) == 1 and piece.text.isalpha())
    for initial in (piece for piece in single if piece.size > least):
        beside = [piece for piece in pieces if _is_beside(initial, piece)]
        if len(group_into_rows(beside)) > 1:
            first = max(beside, key=lambda piece: piece.baseline)
            between = " " if _is_word(initial.text, first.text, pieces) else ""
            joined[id(first)] = replace(first, text=f"{initial.text}{between}{first.text}")
            joined[id(initial)] = replace(initial, text="")
    return [made for piece in pieces if (made := joined.get(id(piece), piece)).text]


def _is_beside(initial: TextRun, piece: TextRun) -> bool:
    near = -_OVERLAP * piece.size < piece.left - initial.right < _INITIAL_GAP * piece.size
    height = initial.baseline - piece.size / 2 < piece.baseline < initial.top
    return near and height and initial.size > _INITIAL_SIZE * piece.size


def _is_word(initial: str, text: str, pieces: Iterable[TextRun]) -> bool:
    """Check if an initial such as `A` is a word: the page has the next word elsewhere, but not with it."""
    if not (begin := _BEGINNING.match(text)):
        return False
    known = Counter(word for piece in pieces for word in _WORDS.findall(piece.text.casefold()))
    word = begin[0].casefold()
    return known[word] > 1 and not known[initial.casefold() + word]


# Reading order: columns, separated by lines that span them

_MIN_LINES = 3
_MIN_LETTERS = 9  # minimum width of a column, in font sizes
_FULL, _NEARLY_FULL = 0.5, 0.3  # minimum shares of lines as wide as their column
_MIN_ENTRIES, _MIN_ENTRY = 15, 8  # minimum lines of an index column, and median letters per line
_MAX_CELL = 22  # maximum average letters of a table cell
_MAX_EDGES = 24
_MAX_DEPTH = 4
_MAX_PIECES = 2000  # limit per page: a page of text has fewer, and more would be slow

_Zone = tuple[bool, list[TextRun]]


def find_columns(pieces: Sequence[TextRun], page: int) -> list[Column]:
    """Return the columns of a page in reading order, with their lines."""
    found: list[Column] = []
    for part in _divide_at_gutters(list(pieces), 0):
        column = Column(min(piece.left for piece in part), max(piece.right for piece in part))
        for row in group_into_rows(part):
            rows = [[piece] for piece in row] if any(piece.grid for piece in row) else [row]
            column.lines += [Line(each, page, column) for each in rows]
        found.append(column)
    return found


def _divide_at_gutters(pieces: list[TextRun], depth: int) -> Iterator[list[TextRun]]:
    zones = _find_best_zones(pieces) if depth < _MAX_DEPTH and len(pieces) <= _MAX_PIECES else None
    if zones is None:
        yield from [pieces] if pieces else []
        return
    edge, found = zones
    for split, zone in found:
        if split:
            yield from _divide_at_gutters([piece for piece in zone if piece.right <= edge], depth + 1)
            yield from _divide_at_gutters([piece for piece in zone if piece.right > edge], depth + 1)
        else:
            yield from _divide_at_gutters(zone, depth + 1)


def _find_best_zones(pieces: list[TextRun]) -> tuple[float, list[_Zone]] | None:
    """Return the gutter with the most text in columns, and the zones of the page, each split or not."""
    best, best_score = None, 0
    # A column may begin slightly left of the common start of several pieces.
    edges = Counter(round(piece.left / 3) for piece in pieces)
    common = [at for at, count in edges.most_common(_MAX_EDGES) if count + edges[at - 1] >= _MIN_LINES]
    for edge in sorted(at * 3 - 2.5 for at in common):
        left, right = (
            sum(piece.right <= edge for piece in pieces),
            sum(piece.left >= edge for piece in pieces),
        )
        if min(left, right) < _MIN_LINES:
            continue
        zones = _find_zones(pieces, edge)
        score = sum(len(zone) for split, zone in zones if split)
        if score > best_score:
            best, best_score = (edge, zones), score
    return best


def _find_zones(pieces: list[TextRun], edge: float) -> list[_Zone]:
    ordered = sorted(pieces, key=lambda piece: -piece.top)
    crossing = [piece for piece in ordered if piece.left < edge < piece.right]
    borders = sorted((piece.baseline for piece in crossing), reverse=True)

    def find_zone(piece: TextRun) -> int:
        middle = (piece.top + piece.bottom) / 2
        at = sum(border > middle for border in borders)
        beside = any(other.bottom < middle < other.top for other in crossing)
        return 2 * at if not beside else 2 * sum(border > middle + piece.size for border in borders) + 1

    placed = sorted(((find_zone(piece), piece) for piece in ordered), key=lambda pair: pair[0])
    found: list[_Zone] = []
    for number, group in groupby(placed, key=lambda pair: pair[0]):
        members = [piece for _, piece in group]
        split = number % 2 == 0 and _is_split(members, edge)
        if found and not split and not found[-1][0]:
            found[-1][1].extend(members)
        else:
            found.append((split, members))
    return found


def _is_split(pieces: list[TextRun], edge: float) -> bool:
    """Check if both sides are columns of running text, and not table cells or list markers."""
    left = [piece for piece in pieces if piece.right <= edge]
    right = [piece for piece in pieces if piece.right > edge]
    if min(len(group_into_rows(left)), len(group_into_rows(right))) < _MIN_LINES:
        return False
    size = median(piece.size for piece in pieces)
    if min(_compute_width(left), _compute_width(right)) < _MIN_LETTERS * size:
        return False
    if min(piece.left for piece in right) - max(piece.right for piece in left) < 0.6 * size:
        return False
    if _share_baselines(left, right) and (_has_cells(left) or _has_cells(right)):
        return False
    return _is_running(left, right) or _is_running(right, left) or _are_lists(left, right)


def _is_running(side: list[TextRun], other: list[TextRun]) -> bool:
    """Check if most lines on one side are full and the other side is similar or independent."""
    if _share_full(side) < _FULL:
        return False
    return _share_full(other) >= _NEARLY_FULL or not _share_baselines(side, other)


def _has_cells(side: list[TextRun]) -> bool:
    """Check if most lines have several short pieces, as in a table."""
    lines = group_into_rows(side)
    cells = [piece for line in lines if len(line) > 1 for piece in line]
    short = sum(len(piece.text) for piece in cells) < _MAX_CELL * len(cells)
    return short and sum(len(line) > 1 for line in lines) * 2 > len(lines)


def _share_full(side: list[TextRun]) -> float:
    left, right = min(piece.left for piece in side), max(piece.right for piece in side)
    lines = group_into_rows(side)
    full = sum(line[-1].right - line[0].left >= 0.75 * (right - left) for line in lines)
    return full / len(lines)


def _are_lists(left: list[TextRun], right: list[TextRun]) -> bool:
    """Check if both sides are long columns of similar width, as in an index."""
    if min(len(group_into_rows(left)), len(group_into_rows(right))) < _MIN_ENTRIES:
        return False
    one, other = _compute_width(left), _compute_width(right)
    mean = median(len(piece.text) for piece in left + right)
    return min(one, other) > 0.6 * max(one, other) and mean >= _MIN_ENTRY


def _share_baselines(left: list[TextRun], right: list[TextRun]) -> bool:
    places = {round(piece.baseline) for piece in left}
    same = sum(bool(places & {round(piece.baseline) + by for by in (-1, 0, 1)}) for piece in right)
    return same > 0.6 * len(right)


def _compute_width(pieces: list[TextRun]) -> float:
    return max(piece.right for piece in pieces) - min(piece.left for piece in pieces)


# Running text: rejoined words at line ends

_TORN = re.compile(r"([^\W\d_]+)[-\xad]$")
_RANGE = re.compile(r"\d[-–]$|\w-$")
_BEGINNING = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}")


class Vocabulary:
    """Words of a document, to decide on hyphens at line ends."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._seen: set[str] = set()
        for line in lines:
            self._seen.update(_WORDS.findall(line.casefold()))

    def join_lines(self, lines: Iterable[str]) -> str:
        text = ""
        for line in lines:
            text = self._join(text, line.strip()) if text else line.strip()
        return clean_line(text)

    def _join(self, text: str, line: str) -> str:
        if not line:
            return text
        if _RANGE.search(text) and line[0].isdigit():
            return text + line
        if torn := _TORN.search(text):
            following = _BEGINNING.match(line)
            if following and line[0].islower() and not self._is_compound(text, torn[1], following[0]):
                return text[:-1] + line
            return text + line if following else f"{text} {line}"
        between = "" if are_cjk(text, line) else " "
        if text[-1] == "\xad":
            return text[:-1] + line
        return text + between + line

    def _is_compound(self, text: str, head: str, tail: str) -> bool:
        """Check if a hyphen at a line end belongs to the word, judged by the rest of the document."""
        if text[-1] == "\xad":
            return False
        head, tail = head.casefold(), tail.casefold()
        if head + tail in self._seen:
            return False
        if f"{head}-{tail}" in self._seen:
            return True
        return text[: -len(head) - 1].endswith("-")


def clean_line(text: str) -> str:
    """Put the text on one line, without soft hyphens and dot leaders."""
    return " ".join(_LEADERS.sub(" … ", text).replace("\xad", "").split())
