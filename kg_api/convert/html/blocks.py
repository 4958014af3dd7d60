"""Lists, tables, and formulas of HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from kg_api.convert.html.elements import MACHINERY, Element, get_skip_reason, list_words, walk
from kg_api.convert.ooxml.text import format_number

_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,10})(?![0-9])")
_STYLE = re.compile(r"(?:^|;)\s*list-style(?:-type)?\s*:([^;]*)", re.IGNORECASE)
_TYPES = {"1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_BULLETS = frozenset({"none", "disc", "circle", "square", "disclosure-open", "disclosure-closed"})
_NUMBERS = {
    "decimal": "decimal",
    **dict.fromkeys(("lower-alpha", "lower-latin"), "lowerLetter"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "upperLetter"),
    "lower-roman": "lowerRoman",
    "upper-roman": "upperRoman",
}
"""Styles of CSS, and their names in Office files."""


class ListNumbering:
    def __init__(self, element: Element) -> None:
        self._style = _get_style(element) or ("decimal" if element.tag == "ol" else "disc")
        descending = element.tag == "ol" and "reversed" in element.attrib
        self._step = -1 if descending else 1
        first = sum(1 for _ in element.iterchildren("li")) if descending else 1
        start = _parse_integer(element.get("start", "")) if element.tag == "ol" else None
        self._next = first if start is None else start

    def count(self, item: Element) -> str:
        """Get the label of the next item, such as `12.` or `iv.` (empty: bullet)."""
        value = _parse_integer(item.get("value", ""))
        number = self._next if value is None else value
        self._next = number + self._step
        style = _get_style(item) or self._style
        if style in _BULLETS:
            return ""
        return f"{format_number(number, _NUMBERS[style]) or number}."


def _get_style(element: Element) -> str:
    attributes = element.attrib
    if style := _STYLE.search(attributes.get("style", "")):
        names = style[1].lower().split()
        if known := next((name for name in names if name in _NUMBERS or name in _BULLETS), ""):
            return known
    kind = attributes.get("type", "").strip()
    return _TYPES.get(kind) or (kind.lower() if kind.lower() in _BULLETS else "")


def _parse_integer(text: str) -> int | None:
    found = _INTEGER.match(text)
    return int(found[1]) if found else None


# Tables: detection of data tables, and their cells

BLOCKS = frozenset({
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog"),
    *("dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre"),
    *("search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
})  # fmt: skip
_PARTS = "self::table or self::thead or self::tbody or self::tfoot or self::tr"
_CELLS = (
    "self::td or self::th or self::caption or self::form or self::script or self::style or self::template"
)
_BETWEEN_CELLS = (
    f"descendant::*[{_PARTS}]/text()[normalize-space()]/.. "
    f"| descendant::*[{_PARTS}]/*[not({_PARTS} or {_CELLS})][normalize-space()]"
)
"""Text in a table outside its cells."""
_NUMBER = re.compile("[0-9]{1,4}")
_MAX_SPAN = 100
_MAX_CELLS = 2_000_000


def get_inline_text(element: Element, left_out: Counter[str] | None = None) -> str:
    """Get the text of an element, with spaces between blocks."""
    pieces = list[str]()
    walker = walk(element)
    for event, each in walker:
        if each.tag in BLOCKS or each.tag == "br":
            pieces.append(" ")
        if event == "end":
            pieces.append((each.tail or "") if each is not element else "")
        elif each is not element and (reason := get_skip_reason(each)):
            walker.skip_subtree()
            if left_out is not None:
                count_words(each, reason, left_out)
        else:
            pieces.append(f" {each.get('alt', '')} " if each.tag == "img" else each.text or "")
    return "".join(pieces)


def count_words(element: Element, reason: str, left_out: Counter[str]) -> None:
    if reason != MACHINERY:
        left_out[reason] += sum(1 for _ in list_words(element))


def read_rows(table: Element, left_out: Counter[str]) -> list[list[str]]:
    """Return the cells of a table. A spanning cell has its text in the first cell."""
    found: list[list[str]] = []
    waiting: dict[int, int] = {}  # remaining rows of a spanning cell above, by column
    cells, hidden = 0, set[Element]()
    for group in table.iterchildren("thead", "tbody", "tfoot"):
        if reason := get_skip_reason(group):
            hidden.add(group)
            count_words(group, reason, left_out)
    for row in table.iter("tr"):
        if (hidden and row.getparent() in hidden) or next(row.iterancestors("table")) is not table:
            continue
        if reason := get_skip_reason(row):
            count_words(row, reason, left_out)
            continue
        line = _read_row(row, waiting, left_out)
        cells += len(line)
        if cells > _MAX_CELLS:
            left_out[f"cells beyond the first {_MAX_CELLS:,} of a table"] += sum(
                map(len, map(str.split, line))
            )
        elif any(each.strip() for each in line):
            found.append(line)
    return found


def _read_row(row: Element, waiting: dict[int, int], left_out: Counter[str]) -> list[str]:
    line: list[str] = []
    groups = (
        each.iterchildren("td", "th") if each.tag == "form" else (each,)
        for each in row.iterchildren("td", "th", "form")
    )
    for cell in chain.from_iterable(groups):
        _skip(line, waiting)
        width, height = _read_span(cell, "colspan"), _read_span(cell, "rowspan")
        if height > 1:
            waiting.update({len(line) + at: height - 1 for at in range(width)})
        if reason := get_skip_reason(cell):
            count_words(cell, reason, left_out)
            line.append("")
        else:
            line.append(get_inline_text(cell, left_out))
        line += [""] * (width - 1)
    _skip(line, waiting)
    return line


def _skip(line: list[str], waiting: dict[int, int]) -> None:
    while waiting.get(len(line)):
        waiting[len(line)] -= 1
        line.append("")


def _read_span(cell: Element, name: str) -> int:
    number = _NUMBER.fullmatch(cell.get(name, ""))
    return min(max(int(number[0]), 1), _MAX_SPAN) if number else 1


def find_layout_elements(root: Element) -> set[Element]:
    """Return layout tables and lists, which contain headings, tables, code, or long definitions."""
    marked: set[Element] = set()
    _mark(marked, root.iter("h1", "h2", "h3", "h4", "h5", "h6"), {"table", "ul", "ol", "dl", "menu"})
    _mark(marked, root.iter("pre"), {"table", "dl"})
    data = _find_data_tables(root)
    _mark(
        marked,
        (each for each in root.iter("table") if next(each.iterancestors("table"), None) not in data),
        {"table", "dl"},
    )
    _mark(marked, root.iter("p", "ul", "ol", "dl"), {"dl"})
    tables = [*root.iter("table")]
    marked |= {each for each in tables if each.get("role") in {"presentation", "none"}}
    if tables:
        beside = root.xpath(_BETWEEN_CELLS)
        marked |= {each for each in beside if each.tag == "table"}
        _mark(marked, beside, {"table"})
    return marked


def _find_data_tables(root: Element) -> set[Element]:
    """Return the tables with header cells or borders. The text of a table in them stays in its cell."""
    headed = {
        next(row.iterancestors("table"), None)
        for row in root.iter("tr")
        if next(row.iterchildren("th"), None) is not None
    }
    return {each for each in root.iter("table") if each in headed or each.get("border", "0") != "0"}


def label_items(root: Element, layout: set[Element]) -> None:
    """Write the numbers of lists in table cells into their items."""
    for items in root.xpath("descendant::table//ol"):
        if next(each for each in items.iterancestors() if each.tag == "table") in layout:
            continue
        numbering = ListNumbering(items)
        for item in items.iterchildren("li"):
            if not get_skip_reason(item) and (label := numbering.count(item)):
                item.text = f"{label} {(item.text or '').lstrip()}"


def _mark(marked: set[Element], inside: Iterable[Element], tags: set[str]) -> None:
    seen: set[Element] = set()
    for each in inside:
        for above in each.iterancestors():
            if above in seen:
                break
            seen.add(above)
            if above.tag in tags:
                marked.add(above)
