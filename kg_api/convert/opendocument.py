"""ODS sheets: their cells as the file shows them, which the library for other workbooks does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from kg_api.convert.markdown_text import one_line

_UNSHOWN = frozenset({"annotation", "tracked-changes"})
_TRUE = {"true": "TRUE", "false": "FALSE"}
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
"""What a cell says where no text is written in it, as some programs leave it."""


def sheets(content: Any, most: int) -> Iterator[tuple[str, list[list[str]] | None]]:
    """The name and the filled rows of each sheet of a `content.xml`; no rows where cells are too many."""
    for each in content.iter():
        if _name(each) == "table" and (name := _attribute(each, "name")) is not None:
            yield name, _filled(each, most)


def _filled(sheet: Any, most: int) -> list[list[str]] | None:
    rows, left = list[list[str]](), most
    for row in sheet.iter():
        if _name(row) == "table-row" and (cells := _cells(row)):
            times = _times(row, "number-rows-repeated")
            left -= times * sum(count for _, count in cells)
            if left < 0:
                return None
            rows += [list(chain.from_iterable(repeat(text, count) for text, count in cells))] * times
    return rows


def _cells(row: Any) -> list[tuple[str, int]]:
    """Its texts, each with how often it stands there, to the last: rows end in thousands of empty cells."""
    cells = [
        (_cell(each), _times(each, "number-columns-repeated"))
        for each in row
        if _name(each) in {"table-cell", "covered-table-cell"}
    ]
    return cells[: max((at for at, (text, _) in enumerate(cells) if text), default=-1) + 1]


def _cell(cell: Any) -> str:
    shown = [one_line("".join(_text(each))) for each in cell if _name(each) == "p"]
    if text := " ".join(filter(None, shown)):
        return text
    said = next(filter(None, (_attribute(cell, name) for name in _VALUES)), "")
    return one_line(_TRUE.get(said, said))


def _text(element: Any) -> Iterator[str]:
    """Words, blanks and line ends; neither notes nor what was deleted."""
    yield element.text or ""
    for each in element:
        if _name(each) in {"s", "tab", "line-break"}:
            yield " "
        elif _name(each) not in _UNSHOWN:
            yield from _text(each)
        yield each.tail or ""


def _times(element: Any, name: str) -> int:
    said = _attribute(element, name) or "1"
    return int(said) if said.isdecimal() else 1


def _attribute(element: Any, name: str) -> str | None:
    """By its name alone: programs write other namespaces than the standard's."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
