"""Tables: lines below each other whose pieces stand in the same columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kg_api.convert.pdf.layout import Line, TextRun

_MIN_ROWS = 3
_MIN_FULL = 0.6
"""Of the rows: have a piece in every column."""
_MAX_CELL = 60
"""Letters that a cell has on average: more is prose that stands side by side."""
_MAX_DISTANCE = 2.6
_WRAPPED = 1.35
"""Of the font size: a line so near below that lacks the first column goes on in the cells above it."""


@dataclass(slots=True)
class Table:
    """Lines that are the rows of a table, and the lines of its cells."""

    lines: list[Line]
    cells: list[list[str]]


def tables(lines: Sequence[Line], is_other: Callable[[Line], bool]) -> dict[int, Table]:
    """Find tables, by the `id` of each of their lines; lines that are something else end them."""
    found: dict[int, Table] = {}
    for group in _groups(lines, is_other):
        if table := _table(group):
            found.update((id(line), table) for line in table.lines)
    return found


def _groups(lines: Sequence[Line], is_other: Callable[[Line], bool]) -> Iterator[list[Line]]:
    """Lines near each other that have a gap in them, and single pieces below such lines."""
    group: list[Line] = []
    for line in lines:
        goes_on = bool(group) and _is_near(group[-1], line) and _is_below(group[0], line)
        if group and not goes_on:
            yield group
            group = []
        if (goes_on or len(line.pieces) > 1) and not is_other(line):
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _is_near(last: Line, line: Line) -> bool:
    distance = last.baseline - line.baseline
    return last.column is line.column and 0 < distance < _MAX_DISTANCE * max(last.size, line.size)


def _is_below(first: Line, line: Line) -> bool:
    return len(line.pieces) > 1 or line.left > first.pieces[0].right


def _table(group: list[Line]) -> Table | None:
    counts = Counter(len(line.pieces) for line in group if len(line.pieces) > 1)
    width, count = counts.most_common(1)[0]
    if count < max(_MIN_ROWS, _MIN_FULL * counts.total()):
        return None
    full = [line.pieces for line in group if len(line.pieces) == width]
    ranges = [(min(p.left for p in cells), max(p.right for p in cells)) for cells in zip(*full, strict=True)]
    gaps = [after[0] - before[1] for before, after in pairwise(ranges)]
    if min(gaps) < group[0].size / 2 or not _are_cells(full):
        return None
    return _filled(group, ranges)


def _are_cells(rows: Sequence[Sequence[TextRun]]) -> bool:
    texts = [piece.text for row in rows for piece in row]
    return sum(map(len, texts)) <= _MAX_CELL * len(texts)


def _filled(group: list[Line], ranges: Sequence[tuple[float, float]]) -> Table | None:
    """Put every piece into its column; no table where one stands across columns."""
    cells: list[list[str]] = []
    for i, line in enumerate(group):
        row = _row(line, ranges)
        if row is None:
            return None
        if not row[0] and cells and group[i - 1].baseline - line.baseline < _WRAPPED * line.size:
            cells[-1] = [f"{above}\n{text}".strip() for above, text in zip(cells[-1], row, strict=True)]
        else:
            cells.append(row)
    return Table(group, cells)


def _row(line: Line, ranges: Sequence[tuple[float, float]]) -> list[str] | None:
    row = [""] * len(ranges)
    for piece in line.pieces:
        at = [i for i, (left, right) in enumerate(ranges) if piece.left < right and piece.right > left]
        if len(at) != 1 or row[at[0]]:
            return None
        row[at[0]] = piece.text
    return row
