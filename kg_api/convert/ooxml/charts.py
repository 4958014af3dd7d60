"""Charts: titles as paragraphs, and the values that Office keeps with a chart as tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from kg_api.convert.markdown_text import one_line, paragraph, table
from kg_api.convert.number_format import format_number, parse_number_format
from kg_api.convert.ooxml.drawing import read_lines
from kg_api.convert.ooxml.package import XmlElement, q

_MAX_POINTS = 100_000


class _Series(NamedTuple):
    name: str
    categories: tuple[str, ...]
    values: tuple[str, ...]
    sizes: tuple[str, ...]


def read_chart(root: XmlElement) -> list[str]:
    """Return the blocks of a chart part; none if nothing in it can be read."""
    if root.tag == q("cx:chartSpace"):
        return list(_read_extended(root))
    series = [_read_series(each) for each in root.iter(q("c:ser"))]
    return [*map(paragraph, _read_titles(root)), *_tabulate(series)]


def _read_titles(root: XmlElement) -> Iterator[str]:
    """The title, the titles of the axes, and labels that somebody wrote."""
    for each in root.iter(q("c:tx")):
        parent = each.getparent()
        if parent is None or parent.tag == q("c:ser"):
            continue
        rich = each.find(q("c:rich"))
        lines = read_lines(rich) if rich is not None else [_read_text(each)]
        yield from filter(None, [" ".join(lines)])


def _tabulate(series: list[_Series]) -> Iterator[str]:
    """A table for each run of series with the same categories."""
    for categories, group in groupby(series, key=lambda each: each.categories):
        same = list(group)
        columns = [column for each in same for column in (each.values, each.sizes) if column]
        names = [
            name for each in same for name, column in ((each.name, each.values), ("", each.sizes)) if column
        ]
        count = max(map(len, [categories, *columns]), default=0)
        rows = [[_at(column, at) for column in (categories, *columns)] for at in range(count)]
        if count:
            yield table([["", *names], *rows])
        elif any(names):
            yield paragraph(", ".join(filter(None, names)))


def _at(values: tuple[str, ...], at: int) -> str:
    return values[at] if at < len(values) else ""


def _read_series(element: XmlElement) -> _Series:
    name = element.find(q("c:tx"))
    return _Series(
        "" if name is None else _read_text(name),
        _read_points(element, "cat", "xVal"),
        _read_points(element, "val", "yVal"),
        _read_points(element, "bubbleSize"),
    )


def _read_text(element: XmlElement) -> str:
    return one_line(" ".join(each.text or "" for each in element.iter(q("c:v"))))


def _read_points(series: XmlElement, *names: str) -> tuple[str, ...]:
    found = next((part for name in names if (part := series.find(q(f"c:{name}"))) is not None), None)
    if found is None:
        return ()
    levels = list(found.iter(q("c:lvl"))) or [found]
    columns = [_read_level(each) for each in levels]
    count = min(max((max(column, default=-1) for column in columns), default=-1) + 1, _MAX_POINTS)
    if len(columns) == 1:
        return tuple(columns[0].get(at, "") for at in range(count))
    # Outer levels come last and name only the first of the points that they hold.
    for column in columns[1:]:
        for at in range(1, count):
            column.setdefault(at, column.get(at - 1, ""))
    return tuple(
        " ".join(filter(None, (column.get(at, "") for column in columns[::-1]))) for at in range(count)
    )


def _read_level(element: XmlElement) -> dict[int, str]:
    code = next((each.text or "" for each in element.iter(q("c:formatCode"))), "")
    numeric = next(element.iter(q("c:numCache"), q("c:numLit")), None) is not None
    points = dict[int, str]()
    for each in element.iter(q("c:pt")):
        value = each.find(q("c:v"))
        if value is not None and each.get("idx", "").isdecimal():
            text = value.text or ""
            points[int(each.get("idx", ""))] = (
                _format_value(text, each.get("formatCode", "") or code) if numeric else one_line(text)
            )
    return points


def _format_value(text: str, code: str) -> str:
    return one_line(format_number(text, parse_number_format(code)))


def _read_extended(root: XmlElement) -> Iterator[str]:
    """Waterfalls, treemaps and other charts of Office 2016."""
    for each in root.iter(q("cx:title")):
        lines = read_lines(each) or [one_line(" ".join(v.text or "" for v in each.iter(q("cx:v"))))]
        yield paragraph(" ".join(lines))
    names = {
        identity.get("val", ""): one_line(" ".join(v.text or "" for v in name.iter(q("cx:v"))))
        for each in root.iter(q("cx:series"))
        if (identity := each.find(q("cx:dataId"))) is not None and (name := each.find(q("cx:tx"))) is not None
    }
    for data in root.iter(q("cx:data")):
        texts = [_read_dimension(each) for each in data.iter(q("cx:strDim"))]
        values = [_read_dimension(each) for each in data.iter(q("cx:numDim"))]
        columns = [column for dimension in (*texts, *values) for column in dimension]
        count = max(map(len, columns), default=0)
        if count:
            width = sum(map(len, texts))
            header = [*[""] * width, names.get(data.get("id", ""), ""), *[""] * (len(columns) - width - 1)]
            yield table(
                [header[: len(columns)], *([_at(column, at) for column in columns] for at in range(count))]
            )


def _read_dimension(element: XmlElement) -> list[tuple[str, ...]]:
    columns = list[tuple[str, ...]]()
    for level in list(element.iter(q("cx:lvl")))[::-1]:
        code = level.get("formatCode", "")
        points = [one_line(each.text or "") for each in level.iter(q("cx:pt"))]
        numeric = str(element.tag).endswith("numDim")
        columns.append(tuple(_format_value(each, code) if numeric else each for each in points[:_MAX_POINTS]))
    return columns
