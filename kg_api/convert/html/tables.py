"""Tables of a page: which are data, and their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kg_api.convert.html.elements import Element, walk
from kg_api.convert.html.ignored import ignored

BLOCKS = frozenset({
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog"),
    *("dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre"),
    *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
})  # fmt: skip
_NUMBER = re.compile("[0-9]{1,4}")
_MAX_SPAN = 100
_MAX_CELLS = 2_000_000


def inline_text(element: Element) -> str:
    """The words of an element in which blocks are parted by blanks only."""
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    walker = walk(element)
    for event, each in walker:
        if each.tag in BLOCKS or each.tag == "br":
            yield " "
        if event == "end":
            yield (each.tail or "") if each is not element else ""
        elif each is not element and ignored(each):
            walker.skip_subtree()
        else:
            yield f" {each.get('alt', '')} " if each.tag == "img" else each.text or ""


def rows(table: Element) -> list[list[str]]:
    """The cells of a table without tables in it; what spans several stands in the first of them."""
    found: list[list[str]] = []
    waiting: dict[int, int] = {}  # columns that a cell above reaches into, and for how many rows
    cells = 0
    for row in table.iter("tr"):
        line = _row(row, waiting)
        cells += len(line)
        if cells > _MAX_CELLS:
            break
        if any(each.strip() for each in line):
            found.append(line)
    return found


def _row(row: Element, waiting: dict[int, int]) -> list[str]:
    line: list[str] = []
    for cell in row.iterchildren("td", "th"):
        _skip(line, waiting)
        width, height = _span(cell, "colspan"), _span(cell, "rowspan")
        if height > 1:
            waiting.update({len(line) + at: height - 1 for at in range(width)})
        line += ["" if ignored(cell) else inline_text(cell), *[""] * (width - 1)]
    _skip(line, waiting)
    return line


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
    marked |= {each for each in root.iter("table") if each.get("role") in {"presentation", "none"}}
    return marked


def _mark(marked: set[Element], inside: Iterable[Element], tags: set[str]) -> None:
    seen: set[Element] = set()
    for each in inside:
        for above in each.iterancestors():
            if above in seen:
                break
            seen.add(above)
            if above.tag in tags:
                marked.add(above)
