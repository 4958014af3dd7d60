"""Cells of ODS sheets as the file shows them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

from kg_api.convert.ooxml.text import Script, strike_text
from kg_api.convert.shared.containers import get_local_name, read_entry, read_xml
from kg_api.convert.shared.markdown_text import join_lines
from kg_api.convert.sheets import Range, Sheet, SheetNotes, join_runs, report_too_large
from kg_api.errors import UnreadableDocument

_MAX_COLUMNS = 1 << 20  # more than any spreadsheet program supports
_UNSHOWN = frozenset({"annotation", "tracked-changes", "ruby-text"})
_PAGE_WORDS = frozenset({"p", "span", "region-left", "region-center", "region-right"})
_FIELDS = {"page-number": "&P", "page-count": "&N"}
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
"""Attributes with the value of a cell. Some programs write no text."""
_HIDDEN = frozenset({"collapse", "filter"})
_QUOTED_OR_CELLS = re.compile(r'"[^"]*"|\[([^\]]*)\]')

Run = tuple[str, Script, bool]


class _Style(NamedTuple):
    script: Script = ""
    is_struck: bool = False
    is_hidden: bool = False


_PLAIN = _Style()


def read_ods_sheets(archive: zipfile.ZipFile, notes: SheetNotes) -> Iterator[Sheet]:
    """Yield the sheets of a `content.xml` in order."""
    names = archive.namelist()
    if "META-INF/manifest.xml" in names and b"encryption-data" in read_entry(
        archive, "META-INF/manifest.xml"
    ):
        raise UnreadableDocument("the file is encrypted. Save the file without a password")
    content = read_xml(read_entry(archive, "content.xml"), "content.xml")
    roots = [content]
    if "styles.xml" in names:
        roots.insert(0, read_xml(read_entry(archive, "styles.xml"), "styles.xml"))
    styles = _read_styles(roots)
    for root in roots[:-1]:
        _note_page_texts(root, notes)
    book = next((each for each in content.iter() if get_local_name(each) == "spreadsheet"), None)
    if book is None:
        raise UnreadableDocument("the file is in OpenDocument format but is not a spreadsheet")
    for each in book:
        # A table with a source is a copy of cells from another file.
        if get_local_name(each) == "table" and not any(
            get_local_name(part) == "table-source" for part in each
        ):
            yield _SheetReader(each, styles, notes).read()


def _note_page_texts(root: Any, notes: SheetNotes) -> None:
    for each in (each for page in root.iter() if get_local_name(page) == "master-page" for each in page):
        if get_local_name(each).startswith(("header", "footer")) and _attribute(each, "display") != "false":
            for part in each.iter():
                if get_local_name(part) not in _PAGE_WORDS:  # fields that a program fills in
                    part.text = _FIELDS.get(get_local_name(part), " ")
            notes.add_page_text("".join(each.itertext()))


def _read_styles(roots: list[Any]) -> dict[str, _Style]:
    """Return styles by name, with properties inherited from their parents."""
    found: dict[str, Any] = {}
    for each in (each for root in roots for each in root.iter() if get_local_name(each) == "style"):
        found[_attribute(each, "name") or ""] = each
    styles: dict[str, _Style] = {}

    def resolve(name: str, depth: int = 0) -> _Style:
        if name in styles or name not in found or depth > 20:  # noqa: PLR2004 - a cycle of parents
            return styles.get(name, _PLAIN)
        style = resolve(_attribute(found[name], "parent-style-name") or "", depth + 1)
        said = {key.rpartition("}")[2]: value for part in found[name] for key, value in part.attrib.items()}
        if (position := said.get("text-position")) is not None:
            raised = position.split()[0]
            script = "raised" if raised == "super" or re.match(r"[1-9]", raised) else ""
            style = style._replace(script="lowered" if raised.startswith(("sub", "-")) else script)
        line = said.get("text-line-through-style", said.get("text-line-through-type"))
        if line is not None:
            style = style._replace(is_struck=line != "none")
        styles[name] = style._replace(is_hidden=said.get("display") == "false")
        return styles[name]

    for name in found:
        resolve(name)
    return styles


class _SheetReader:
    def __init__(self, table: Any, styles: Mapping[str, _Style], notes: SheetNotes) -> None:
        self._table, self._styles, self._notes = table, styles, notes
        hidden = styles.get(_attribute(table, "style-name") or "", _PLAIN).is_hidden
        self._sheet = Sheet(_attribute(table, "name") or "", hidden=hidden)
        self._columns: list[str] = []  # default cell style of each column
        self._merges: list[Range] = []

    def read(self) -> Sheet:
        hidden, hidden_columns, number = list[int](), list[range](), 1
        for each in _iterate_rows(self._table):
            kind, times = get_local_name(each), _count(each, "number-rows-repeated")
            if kind == "table-column":
                style = _attribute(each, "default-cell-style-name") or ""
                columns = min(_count(each, "number-columns-repeated"), _MAX_COLUMNS - len(self._columns))
                if _attribute(each, "visibility") in _HIDDEN:
                    hidden_columns.append(range(len(self._columns), len(self._columns) + columns))
                self._columns += repeat(style, columns)
            elif kind == "table-row":
                if cells := self._read_row(each, number):
                    self._sheet.add_row(number, cells, times)
                    if _attribute(each, "visibility") in _HIDDEN:
                        hidden += range(number, number + times)
                number += times
            elif kind == "shapes":
                for shape in each:
                    self._read_shape(shape)
        self._sheet.place(self._merges, hidden, hidden_columns)
        return self._sheet

    def _read_row(self, row: Any, number: int) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = 0
        for each in row:
            if get_local_name(each) not in {"table-cell", "covered-table-cell"}:
                continue
            times = _count(each, "number-columns-repeated")
            name = _attribute(each, "style-name") or (
                self._columns[column] if column < len(self._columns) else ""
            )
            style = self._styles.get(name, _PLAIN)
            if text := self._read_cell(each, style):
                if column + times > _MAX_COLUMNS:
                    raise report_too_large(self._sheet.name)
                cells.update(dict.fromkeys(range(column, column + times), text))
                down, right = _count(each, "number-rows-spanned"), _count(each, "number-columns-spanned")
                if max(down, right) > 1:
                    self._merges.append((number, column, number + down - 1, column + right - 1))
            column += times
        return cells

    def _read_cell(self, cell: Any, style: _Style) -> str:
        shown = list[str]()
        for each in cell:
            if get_local_name(each) == "p":
                runs = self._read_runs(each, _PLAIN._replace(is_struck=style.is_struck))
                shown.append(join_lines(join_runs(runs)))
            elif get_local_name(each) == "annotation":
                words = " ".join("".join(part.itertext()) for part in each if get_local_name(part) == "p")
                self._notes.leave_out("comments on cells", words)
            else:
                self._read_shape(each)
        if text := " ".join(filter(None, shown)):
            return text
        if text := _show_value(cell):
            return strike_text(text) if style.is_struck else text
        formula = _attribute(cell, "formula")
        is_empty_text = _attribute(cell, "value-type") == "string" and (
            _attribute(cell, "string-value") is not None or any(get_local_name(each) == "p" for each in cell)
        )
        if not formula or is_empty_text:
            return ""
        self._notes.uncomputed += 1
        return show_formula(formula)

    def _read_runs(self, element: Any, style: _Style) -> Iterator[Run]:
        """Yield text runs, with whitespace elements as spaces, and without comments and deleted text."""
        yield element.text or "", style.script, style.is_struck
        for each in element:
            name = get_local_name(each)
            if name in {"s", "tab", "line-break"}:
                yield " ", style.script, style.is_struck
            elif name not in _UNSHOWN:
                own = self._styles.get(_attribute(each, "style-name") or "") if name == "span" else None
                yield from self._read_runs(each, own or style)
            yield each.tail or "", style.script, style.is_struck

    def _read_shape(self, shape: Any) -> None:
        kinds = {get_local_name(each) for each in shape.iter()}
        if "object" in kinds:
            self._notes.leave_out("charts and embedded objects")
            return
        paragraphs = [each for each in shape.iter() if get_local_name(each) == "p"]
        texts = [join_lines(join_runs(self._read_runs(each, _PLAIN))) for each in paragraphs]
        self._sheet.texts += filter(None, texts)
        if "image" in kinds and not any(texts):
            self._notes.leave_out("pictures")


def _iterate_rows(element: Any) -> Iterator[Any]:
    """Yield columns, rows, and shapes of a table, including grouped ones."""
    for each in element:
        if get_local_name(each) in {"table-column", "table-row", "shapes"}:
            yield each
        else:
            yield from _iterate_rows(each)


def _show_value(cell: Any) -> str:
    """Return the value of a cell without displayed text, as in the file."""
    said = next(filter(None, (_attribute(cell, name) for name in _VALUES)), "")
    return join_lines(f"{said} {_attribute(cell, 'currency') or ''}")


def show_formula(formula: str) -> str:
    """Return a formula such as `of:=[.B1]*2` as programs show it: `=B1*2`."""

    def show(found: re.Match[str]) -> str:
        return (
            found[0] if found[1] is None else ":".join(part.removeprefix(".") for part in found[1].split(":"))
        )

    body = re.sub(r"^\w+:(?==)", "", join_lines(formula))
    return _QUOTED_OR_CELLS.sub(show, body if body.startswith("=") else f"={body}")


def _count(element: Any, name: str) -> int:
    said = _attribute(element, name) or "1"
    return int(said) if said.isdecimal() and int(said) else 1


def _attribute(element: Any, name: str) -> str | None:
    """Return an attribute by local name, because programs differ in namespaces."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)
