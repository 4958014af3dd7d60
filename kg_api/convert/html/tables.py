"""Tables of a page: which are data, and their cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from kg_api.convert.html.elements import Element, walk
from kg_api.convert.html.ignored import MACHINERY, ignored, words
from kg_api.convert.html.lists import ListNumbering

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
"""Text that is in a table and in none of its cells."""
_NUMBER = re.compile("[0-9]{1,4}")
_MAX_SPAN = 100
_MAX_CELLS = 2_000_000


def inline_text(element: Element, left_out: Counter[str] | None = None) -> str:
    """Return the words of an element, in which blocks are parted by blanks only.

    Args:
        element: where to read.
        left_out: counts the words that are no content, by the reason.
    """
    return "".join(_read_pieces(element, left_out))


def _read_pieces(element: Element, left_out: Counter[str] | None) -> Iterator[str]:
    walker = walk(element)
    for event, each in walker:
        if each.tag in BLOCKS or each.tag == "br":
            yield " "
        if event == "end":
            yield (each.tail or "") if each is not element else ""
        elif each is not element and (reason := ignored(each)):
            walker.skip_subtree()
            if left_out is not None:
                count_words(each, reason, left_out)
        else:
            yield f" {each.get('alt', '')} " if each.tag == "img" else each.text or ""


def count_words(element: Element, reason: str, left_out: Counter[str]) -> None:
    """Count the words of an element that is left out."""
    if reason != MACHINERY:
        left_out[reason] += sum(1 for _ in words(element))


def rows(table: Element, left_out: Counter[str]) -> list[list[str]]:
    """The cells of a table without tables in it; what spans several stands in the first of them."""
    found: list[list[str]] = []
    waiting: dict[int, int] = {}  # columns that a cell above reaches into, and for how many rows
    cells, hidden = 0, set[Element]()
    for group in table.iterchildren("thead", "tbody", "tfoot"):
        if reason := ignored(group):
            hidden.add(group)
            count_words(group, reason, left_out)
    for row in table.iter("tr"):
        if hidden and row.getparent() in hidden:
            continue
        if reason := ignored(row):
            count_words(row, reason, left_out)
            continue
        line = _row(row, waiting, left_out)
        cells += len(line)
        if cells > _MAX_CELLS:
            left_out[f"cells beyond the first {_MAX_CELLS:,} of a table"] += sum(
                map(len, map(str.split, line))
            )
        elif any(each.strip() for each in line):
            found.append(line)
    return found


def _row(row: Element, waiting: dict[int, int], left_out: Counter[str]) -> list[str]:
    line: list[str] = []
    for cell in _cells(row):
        _skip(line, waiting)
        width, height = _span(cell, "colspan"), _span(cell, "rowspan")
        if height > 1:
            waiting.update({len(line) + at: height - 1 for at in range(width)})
        if reason := ignored(cell):
            count_words(cell, reason, left_out)
            line.append("")
        else:
            line.append(inline_text(cell, left_out))
        line += [""] * (width - 1)
    _skip(line, waiting)
    return line


def _cells(row: Element) -> Iterator[Element]:
    for each in row.iterchildren("td", "th", "form"):
        yield from each.iterchildren("td", "th") if each.tag == "form" else (each,)


def _skip(line: list[str], waiting: dict[int, int]) -> None:
    while waiting.get(len(line)):
        waiting[len(line)] -= 1
        line.append("")


def _span(cell: Element, name: str) -> int:
    said = _NUMBER.fullmatch(cell.get(name, ""))
    return min(max(int(said[0]), 1), _MAX_SPAN) if said else 1


def layout(root: Element) -> set[Element]:
    """Tables and lists that only arrange what is in them: headings, tables, code, long definitions."""
    marked: set[Element] = set()
    _mark(marked, root.iter("h1", "h2", "h3", "h4", "h5", "h6"), {"table", "ul", "ol", "dl", "menu"})
    _mark(marked, root.iter("table", "pre"), {"table", "dl"})
    _mark(marked, root.iter("p", "ul", "ol", "dl"), {"dl"})
    tables = [*root.iter("table")]
    marked |= {each for each in tables if each.get("role") in {"presentation", "none"}}
    if tables:
        beside = root.xpath(_BETWEEN_CELLS)
        marked |= {each for each in beside if each.tag == "table"}
        _mark(marked, beside, {"table"})
    return marked


def label_items(root: Element, layout: set[Element]) -> None:
    """Write the numbers of lists that are in cells into their items."""
    for items in root.xpath("descendant::table//ol"):
        if next(each for each in items.iterancestors() if each.tag == "table") in layout:
            continue
        numbering = ListNumbering(items)
        for item in items.iterchildren("li"):
            if not ignored(item) and (label := numbering.count(item)):
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
