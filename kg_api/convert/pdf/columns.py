"""The reading order of a page: columns one after the other, split by what runs across them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from kg_api.convert.pdf.layout import Column, Line, TextRun, rows

_MIN_LINES = 3
_MIN_LETTERS = 9
"""Widths of a letter (about half the font size) that a column of text has at least."""
_FULL, _NEARLY_FULL = 0.5, 0.3
"""Of its lines: as wide as the column."""
_MIN_ENTRIES, _MIN_ENTRY = 15, 8
"""Lines of a column of short ones, such as an index, and their letters."""
_MAX_CELL = 22
"""Letters of a table's cell, on average; columns of text have more."""
_MAX_EDGES = 24
_MAX_DEPTH = 4
_MAX_PIECES = 2000
"""On a page: more is no page of text, and would take long."""

_Zone = tuple[bool, list[TextRun]]


def columns(pieces: Sequence[TextRun], page: int) -> list[Column]:
    """Give a page's columns in reading order, each with its lines."""
    return [_column(part, page) for part in _parts(list(pieces), 0)]


def _column(pieces: list[TextRun], page: int) -> Column:
    column = Column(min(piece.left for piece in pieces), max(piece.right for piece in pieces))
    column.lines = [Line(row, page, column) for row in rows(pieces)]
    return column


def _parts(pieces: list[TextRun], depth: int) -> Iterator[list[TextRun]]:
    zones = _best_zones(pieces) if depth < _MAX_DEPTH and len(pieces) <= _MAX_PIECES else None
    if zones is None:
        yield from [pieces] if pieces else []
        return
    edge, found = zones
    for split, zone in found:
        if split:
            yield from _parts([piece for piece in zone if piece.right <= edge], depth + 1)
            yield from _parts([piece for piece in zone if piece.right > edge], depth + 1)
        else:
            yield from _parts(zone, depth + 1)


def _best_zones(pieces: list[TextRun]) -> tuple[float, list[_Zone]] | None:
    """The gutter with most text beside it, and the page's zones above each other that it splits, or not."""
    best, best_score = None, 0
    for edge in _left_edges(pieces):
        if min(_beside(pieces, edge)) < _MIN_LINES:
            continue
        zones = _zones(pieces, edge)
        score = sum(len(zone) for split, zone in zones if split)
        if score > best_score:
            best, best_score = (edge, zones), score
    return best


def _beside(pieces: list[TextRun], edge: float) -> tuple[int, int]:
    return sum(piece.right <= edge for piece in pieces), sum(piece.left >= edge for piece in pieces)


def _left_edges(pieces: list[TextRun]) -> list[float]:
    """Where columns may begin: what several pieces begin at, a bit left of it."""
    edges = Counter(round(piece.left / 3) for piece in pieces)
    common = [edge for edge, count in edges.most_common(_MAX_EDGES) if count + edges[edge - 1] >= _MIN_LINES]
    return sorted(edge * 3 - 2.5 for edge in common)


def _zones(pieces: list[TextRun], edge: float) -> list[_Zone]:
    ordered = sorted(pieces, key=lambda piece: -piece.top)
    crossing = [piece for piece in ordered if piece.left < edge < piece.right]
    borders = sorted((piece.baseline for piece in crossing), reverse=True)

    def zone(piece: TextRun) -> int:
        middle = (piece.top + piece.bottom) / 2
        at = sum(border > middle for border in borders)
        beside = any(other.bottom < middle < other.top for other in crossing)
        return 2 * at if not beside else 2 * sum(border > middle + piece.size for border in borders) + 1

    placed = sorted(((zone(piece), piece) for piece in ordered), key=lambda pair: pair[0])
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
    """Both sides hold columns of running text: not a table's cells, not marks of a list beside its items."""
    left = [piece for piece in pieces if piece.right <= edge]
    right = [piece for piece in pieces if piece.right > edge]
    if min(len(rows(left)), len(rows(right))) < _MIN_LINES:
        return False
    size = median(piece.size for piece in pieces)
    if min(_width(left), _width(right)) < _MIN_LETTERS * size:
        return False
    if min(piece.left for piece in right) - max(piece.right for piece in left) < 0.6 * size:
        return False
    if _share_baselines(left, right) and (_has_cells(left) or _has_cells(right)):
        return False
    return _is_running(left, right) or _is_running(right, left) or _are_lists(left, right)


def _is_running(side: list[TextRun], other: list[TextRun]) -> bool:
    """Most lines are as wide as the column, and the other side's are not much narrower: prose by prose."""
    if _share_full(side) < _FULL:
        return False
    return _share_full(other) >= _NEARLY_FULL or not _share_baselines(side, other)


def _has_cells(side: list[TextRun]) -> bool:
    """Most lines are of several short pieces: columns of a table."""
    lines = rows(side)
    cells = [piece for line in lines if len(line) > 1 for piece in line]
    short = sum(len(piece.text) for piece in cells) < _MAX_CELL * len(cells)
    return short and sum(len(line) > 1 for line in lines) * 2 > len(lines)


def _share_full(side: list[TextRun]) -> float:
    left, right = min(piece.left for piece in side), max(piece.right for piece in side)
    lines = rows(side)
    full = sum(line[-1].right - line[0].left >= 0.75 * (right - left) for line in lines)
    return full / len(lines)


def _are_lists(left: list[TextRun], right: list[TextRun]) -> bool:
    """Long columns of one width, as in an index."""
    if min(len(rows(left)), len(rows(right))) < _MIN_ENTRIES:
        return False
    one, other = _width(left), _width(right)
    mean = median(len(piece.text) for piece in left + right)
    return min(one, other) > 0.6 * max(one, other) and mean >= _MIN_ENTRY


def _share_baselines(left: list[TextRun], right: list[TextRun]) -> bool:
    places = {round(piece.baseline) for piece in left}
    same = sum(bool(places & {round(piece.baseline) + by for by in (-1, 0, 1)}) for piece in right)
    return same > 0.6 * len(right)


def _width(pieces: list[TextRun]) -> float:
    return max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
