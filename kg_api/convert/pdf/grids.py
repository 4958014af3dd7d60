"""Tables with ruled cells. A cell is a rectangle whose four sides are drawn on the page.

The sides show which words belong together, even if the lines of neighboring cells are not on one baseline.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from math import inf
from statistics import mean, median
from typing import Any, NamedTuple

from pypdfium2 import PdfMatrix, raw

from kg_api.convert.pdf.layout import Column, Grid, Line, TextRun, group_into_rows
from kg_api.convert.pdf.letters import Box

_NEAR = 2.5  # points: distance of sides that are one line, as each cell may have its own sides
_MIN_LENGTH, _MAX_LENGTH = 5, 14_400  # points. PDF pages are not larger
_MAX_SEGMENTS, _MAX_CROSSINGS = 20_000, 20_000  # of a page. Drawings have more
_MIN_LINES, _FULL = 3, 0.6
"""Minimum lines that are rows without a line between them, and minimum share of cells with a text."""
_FULL_LINE, _LONG_LINE = 0.7, 20  # minimum share of the cell, and letters of a line of running text
_MIN_FILLED = 0.25  # share of the cells. The lines of a chart also form cells
_MAX_CELL = 1_000  # letters. A larger cell is an area of the page, such as a column in a frame

_Side = tuple[float, float, float]  # position across the direction of a line, its begin and its end
_Row = Mapping[float, Sequence[Line]]  # lines of the cells, by the left side of each


class _Line(NamedTuple):
    """Position of a line across its direction, and its parts."""

    at: float
    parts: list[tuple[float, float]]

    def covers(self, begin: float, end: float) -> bool:
        return any(first - _NEAR <= begin and end <= last + _NEAR for first, last in self.parts)


def find_grids(paths: Iterable[tuple[Any, PdfMatrix]]) -> list[Grid]:
    """Return the cells that lines and rectangles draw, grouped by table.

    Args:
        paths: Path objects of PDFium with their transformations.
    """
    across, down = list[Box](), list[Box]()
    left = _MAX_SEGMENTS
    for path, matrix in paths:
        left -= (count := raw.FPDFPath_CountSegments(path))
        if left < 0:
            return []
        for side in _list_sides(path, count, matrix):
            width, height = side[2] - side[0], side[3] - side[1]
            if _MIN_LENGTH <= max(width, height) <= _MAX_LENGTH and min(width, height) < 1:
                (across if width > height else down).append(side)
    level = [(low, begin, end) for begin, low, end, _ in across]
    upright = [(left, low, top) for left, low, _, top in down]
    columns = _merge_lines(upright)
    rows = _merge_lines([*level, *_list_open_ends(columns, _merge_lines(level))])
    columns = _merge_lines([*upright, *_list_open_sides(rows, columns)])
    rows.reverse()
    return _group_cells(_find_cells(rows, columns)) if len(rows) * len(columns) <= _MAX_CROSSINGS else []


def _list_sides(path: Any, count: int, matrix: PdfMatrix) -> Iterator[Box]:
    fill, stroke, x, y = ctypes.c_int(), ctypes.c_int(), ctypes.c_float(), ctypes.c_float()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if not (fill.value or stroke.value):
        return
    start = last = (0.0, 0.0)
    for i in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, i)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield _get_bounds(last, point)
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield _get_bounds(last, start)


def _get_bounds(one: tuple[float, float], other: tuple[float, float]) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])


def _merge_lines(lines: Iterable[_Side]) -> list[_Line]:
    """Merge lines (position, begin, end) that are close together, and their parts that touch."""
    merged: list[list[_Side]] = []
    for line in sorted(lines):
        if merged and line[0] - merged[-1][-1][0] < _NEAR:
            merged[-1].append(line)
        else:
            merged.append([line])
    found: list[_Line] = []
    for group in merged:
        parts: list[tuple[float, float]] = []
        for begin, end in sorted((begin, end) for _, begin, end in group):
            if parts and begin - parts[-1][1] < _NEAR:
                parts[-1] = parts[-1][0], max(parts[-1][1], end)
            else:
                parts.append((begin, end))
        found.append(_Line(median(at for at, _, _ in group), parts))
    return found


def _list_open_ends(columns: Sequence[_Line], rows: Sequence[_Line]) -> Iterator[_Side]:
    """Yield the top and bottom of tables without them: the ends of a line that crosses others."""
    for column in columns:
        for low, high in column.parts:
            crossed = [
                part
                for row in rows
                if low - _NEAR <= row.at <= high + _NEAR
                for part in row.parts
                if part[0] - _NEAR <= column.at <= part[1] + _NEAR
            ]
            if crossed:
                begin, end = min(part[0] for part in crossed), max(part[1] for part in crossed)
                yield low, begin, end
                yield high, begin, end


def _list_open_sides(rows: Sequence[_Line], columns: Sequence[_Line]) -> Iterator[_Side]:
    """Yield the left and right sides of tables without them: the ends of equal lines across a column line."""
    last: dict[tuple[int, int], float] = {}
    for row in rows:
        for begin, end in row.parts:
            place = round(begin / _NEAR), round(end / _NEAR)
            low = last.get(place, row.at)
            last[place] = row.at
            if any(begin < column.at < end and column.covers(low, row.at) for column in columns):
                yield begin, low, row.at
                yield end, low, row.at


def _find_cells(rows: Sequence[_Line], columns: Sequence[_Line]) -> Iterator[Box]:
    """Yield the smallest rectangle below and to the right of each crossing. Rows are from top to bottom."""
    for j, top in enumerate(rows):
        for i, left in enumerate(columns):
            if cell := _find_cell(top, left, rows[j + 1 :], columns[i + 1 :]):
                yield cell


def _find_cell(top: _Line, left: _Line, below: Sequence[_Line], beside: Sequence[_Line]) -> Box | None:
    for bottom in below:
        if not left.covers(bottom.at, top.at):
            return None
        for right in beside:
            if not top.covers(left.at, right.at):
                break
            if bottom.covers(left.at, right.at) and right.covers(bottom.at, top.at):
                return left.at, bottom.at, right.at, top.at
    return None


def _group_cells(cells: Iterable[Box]) -> list[Grid]:
    """Group cells that share a corner. A table has several rows and columns."""
    groups: dict[tuple[float, float], list[Box]] = {}
    for cell in cells:
        known = {id(groups[each]): groups[each] for each in _list_corners(cell) if each in groups}
        group, *others = sorted(known.values(), key=len, reverse=True) or [list[Box]()]
        for box in (cell, *chain.from_iterable(others)):
            group.append(box)
            groups.update(dict.fromkeys(_list_corners(box), group))
    grids = {id(group): group for group in groups.values()}.values()
    return [
        group
        for group in grids
        if len({cell[0] for cell in group}) > 1 and len({cell[3] for cell in group}) > 1
    ]


def _list_corners(cell: Box) -> list[tuple[float, float]]:
    left, bottom, right, top = cell
    return [(left, bottom), (left, top), (right, bottom), (right, top)]


def join_cells(pieces: Sequence[TextRun], grids: Iterable[Grid]) -> list[TextRun]:
    """Replace the pieces in each row of a table by one piece with the texts of the cells."""
    left = list(pieces)
    for grid in sorted(grids, key=_compute_area):
        cells = {cell: list[TextRun]() for cell in grid}
        outside, places = list[TextRun](), _Places(grid)
        for piece in left:
            cell = places.find((piece.left + piece.right) / 2, (piece.top + piece.bottom) / 2)
            (cells[cell] if cell else outside).append(piece)
        filled = [cell for cell, inside in cells.items() if inside]
        is_table = len({cell[0] for cell in filled}) > 1 and len({cell[3] for cell in filled}) > 1
        is_table = is_table and len(filled) >= _MIN_FILLED * len(grid)
        letters = (sum(len(piece.text) for piece in inside) for inside in cells.values())
        if is_table and max(letters) <= _MAX_CELL and not _are_backgrounds(cells):
            left = [*outside, *_join_rows(grid, cells)]
    return left


def _are_backgrounds(cells: Mapping[Box, Sequence[TextRun]]) -> bool:
    """Check if the cells are colored words of a code listing, whose lines run across them."""
    is_mono = all(piece.mono for inside in cells.values() for piece in inside)
    return is_mono and any(
        piece.left < cell[0] - _NEAR or cell[2] + _NEAR < piece.right
        for cell, inside in cells.items()
        for piece in inside
    )


class _Places:
    """Cells of a table by position."""

    def __init__(self, grid: Grid) -> None:
        self._columns = sorted({x for cell in grid for x in (cell[0], cell[2])})
        self._rows = sorted({y for cell in grid for y in (cell[1], cell[3])})
        self._cells: dict[tuple[int, int], Box] = {}
        for cell in grid:
            columns = range(self._columns.index(cell[0]), self._columns.index(cell[2]))
            rows = range(self._rows.index(cell[1]), self._rows.index(cell[3]))
            self._cells.update(dict.fromkeys(product(columns, rows), cell))

    def find(self, x: float, y: float) -> Box | None:
        return self._cells.get((bisect_right(self._columns, x) - 1, bisect_right(self._rows, y) - 1))


def _compute_area(grid: Grid) -> float:
    return sum((right - left) * (top - bottom) for left, bottom, right, top in grid)


def _join_rows(grid: Grid, cells: Mapping[Box, list[TextRun]]) -> Iterator[TextRun]:
    rows: dict[float, list[Box]] = defaultdict(list)
    for cell in cells:
        rows[cell[3]].append(cell)
    columns = sorted({cell[0] for cell, inside in cells.items() if inside})
    filled = [[cell for cell in row if cells[cell]] for _, row in sorted(rows.items(), reverse=True)]
    filled = [row for row in filled if row]
    for at, row in enumerate(filled):
        is_list = at == 1 and len(filled) == 2  # noqa: PLR2004 - the header and one other row
        lines = {cell[0]: _list_lines(cells[cell], Column(cell[0], cell[2])) for cell in row}
        for part in _divide_row(lines, is_list=is_list):
            pieces = [piece for some in part.values() for line in some for piece in line.pieces]
            yield TextRun(
                " ".join(line.text for some in part.values() for line in some),
                min(cell[0] for cell in grid),
                max(cell[2] for cell in grid),
                max(piece.baseline for piece in pieces),
                median(piece.size for piece in pieces),
                mono=all(piece.mono for piece in pieces),
                from_right=sum(piece.from_right for piece in pieces) * 2 > len(pieces),
                is_mirrored=pieces[0].is_mirrored,
                words=tuple(word for piece in pieces for word in piece.words),
                cells=["\n".join(line.text for line in part.get(left, ())) for left in columns],
                grid=grid,
            )


def _list_lines(pieces: Iterable[TextRun], column: Column) -> list[Line]:
    return [Line(row, 0, column) for row in group_into_rows(pieces)]


def _is_running(lines: Sequence[Line]) -> bool:
    """Check if all lines but the last are long and fill their cell, as in a paragraph."""
    full = all(line.right - line.left > _FULL_LINE * line.column.width for line in lines[:-1])
    return full and len(lines) > 1 and mean(len(line.text) for line in lines[:-1]) > _LONG_LINE


def _divide_row(cells: _Row, *, is_list: bool) -> Iterator[_Row]:
    """Yield the rows between two lines.

    These are several if each line of the first cell has a line in most others. If the table only has a line
    below its header, each line of the first cell begins a row.
    """
    first, *others = cells.values()
    begins = [line.main.top for line in first]
    is_shared = is_list or all(
        {*map(_round_position, lines)} <= {*map(_round_position, first)} for lines in others
    )
    is_full = is_list or sum(map(len, others)) > _FULL * len(first) * len(others)
    is_text = any(map(_is_running, cells.values()))
    if is_text or not (len(first) >= _MIN_LINES and others and is_shared and is_full):
        yield cells
        return
    for at, top in enumerate(begins):
        above, below = top + _NEAR if at else inf, begins[at + 1] + _NEAR if at + 1 < len(begins) else -inf
        yield {
            left: [line for line in lines if below < line.main.top <= above] for left, lines in cells.items()
        }


def _round_position(line: Line) -> int:
    return round(line.baseline)
