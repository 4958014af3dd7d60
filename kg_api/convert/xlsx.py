"""Cells of XLSX workbooks as a spreadsheet program shows them.

Fast libraries return values without number formats. Others take six times as long and lose superscripts.
None distinguishes a formula without a stored result from an empty cell.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from kg_api.convert.ooxml.drawings import read_lines
from kg_api.convert.ooxml.package import Package, qualify
from kg_api.convert.ooxml.text import Script, strike_text
from kg_api.convert.shared.containers import get_local_name, iterate_xml, read_xml
from kg_api.convert.shared.markdown_text import join_lines
from kg_api.convert.shared.number_format import (
    GENERAL,
    NumberFormat,
    find_builtin_format,
    format_datetime,
    format_number,
    parse_number_format,
)
from kg_api.convert.sheets import Sheet, SheetNotes, join_runs
from kg_api.errors import UnreadableDocument

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NEWER = re.compile(r"_xl(?:fn|ws|pm|udf)\.")
_PAGE_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|(?![PN])[A-Za-z+-])')
_TRUE = frozenset({"1", "true"})
_PAGE_TEXTS = frozenset({"oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"})

Run = tuple[str, Script, bool | None]  # text, script, struck (None: as the cell)


class _Style(NamedTuple):
    form: NumberFormat = GENERAL
    is_struck: bool = False


_PLAIN = _Style()
_SCRIPTS: dict[str, Script] = {"superscript": "raised", "subscript": "lowered"}


@dataclass(slots=True)
class _Book:
    notes: SheetNotes
    package: Package
    strings: list[str | list[Run]] = field(default_factory=list[str | list[Run]])
    styles: list[_Style] = field(default_factory=list[_Style])
    since_1904: bool = False
    is_recomputed: bool = False
    """Whether the file asks programs to compute formulas on opening, because its writer did not."""


def read_xlsx_sheets(archive: zipfile.ZipFile, notes: SheetNotes) -> Iterator[Sheet]:
    package = Package(archive)
    main = package.find_related("", "officeDocument") or "xl/workbook.xml"
    if not (package.has(main) and main.endswith(".xml")):
        raise UnreadableDocument(f"the file is a ZIP archive but not a spreadsheet: {main} is missing")
    root = read_xml(package.read(main), main)
    if get_local_name(root) != "workbook":
        raise UnreadableDocument(f"the file is not a spreadsheet: {main} is not a workbook")
    links = package.get_relationships(main)
    book = _Book(notes, package)
    if package.has(part := package.find_related(main, "styles") or "xl/styles.xml"):
        book.styles = _read_styles(read_xml(package.read(part), part))
    if package.has(part := package.find_related(main, "sharedStrings") or "xl/sharedStrings.xml"):
        for each in iterate_xml(package.read(part), part):
            if get_local_name(each) == "si":
                text = _read_runs(each)
                book.strings.append(join_lines(text) if isinstance(text, str) else text)
                each.clear()
    attributes = {get_local_name(each): each.attrib for each in root}  # extensions repeat names
    book.since_1904 = attributes.get("workbookPr", {}).get("date1904") in _TRUE
    book.is_recomputed = attributes.get("calcPr", {}).get("fullCalcOnLoad") in _TRUE
    for each in [each for each in root.iter() if get_local_name(each) == "sheet"]:
        name = str(each.get("name") or "")
        link = links.get(next((value for key, value in each.attrib.items() if key.endswith("}id")), ""))
        if link and link.kind == "worksheet" and not link.external:
            sheet = Sheet(name, hidden=each.get("state") in {"hidden", "veryHidden"})
            _SheetReader(book, sheet, link.target).read()
            yield sheet
        else:
            notes.count_skipped("sheets without cells", name)


def _read_styles(root: Any) -> list[_Style]:
    forms: dict[int, NumberFormat] = {}
    fonts = list[Any]()
    styles = list[_Style]()
    for each in root:
        if get_local_name(each) == "numFmts":
            for form in each:
                forms[_parse_number(form.get("numFmtId"))] = parse_number_format(
                    str(form.get("formatCode") or "")
                )
        elif get_local_name(each) == "fonts":
            fonts = list(each)
        elif get_local_name(each) == "cellXfs":
            for xf in each:
                form, font = _parse_number(xf.get("numFmtId")), _parse_number(xf.get("fontId"))
                marks = fonts[font] if font < len(fonts) else ()
                styles.append(
                    _Style(forms.get(form) or find_builtin_format(form), is_struck=_is_on(marks, "strike"))
                )
    return styles


def _is_on(marks: Any, name: str) -> bool:
    return any(get_local_name(each) == name and each.get("val", "1") not in {"0", "false"} for each in marks)


def _read_runs(element: Any) -> str | list[Run]:
    """Read a text without its phonetic guide (furigana)."""
    runs = list[Run]()
    for each in element:
        if get_local_name(each) == "t":
            runs.append((_unescape(each.text), "", None))
        elif get_local_name(each) == "r":
            marks = next((part for part in each if get_local_name(part) == "rPr"), None)
            text = "".join(_unescape(part.text) for part in each if get_local_name(part) == "t")
            script = next(
                (str(mark.get("val")) for mark in marks or () if get_local_name(mark) == "vertAlign"), ""
            )
            runs.append((text, _SCRIPTS.get(script, ""), None if marks is None else _is_on(marks, "strike")))
    if any(script or is_struck is not None for _, script, is_struck in runs):
        return runs
    return "".join(text for text, _, _ in runs)


def _unescape(text: str | None) -> str:
    if not text or "_x" not in text:
        return text or ""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


class _SheetReader:
    def __init__(self, book: _Book, sheet: Sheet, part: str) -> None:
        self._book, self._sheet, self._part = book, sheet, part
        self._formulas: dict[str, str] = {}  # cells with shared formulas by `si` key
        if not book.package.has(part):
            raise UnreadableDocument(f"{part[:200]!r} is missing in the file. Save the file again")

    def read(self) -> None:
        hidden, row = list[range](), 0
        for each in iterate_xml(self._book.package.read(self._part), self._part):
            name = get_local_name(each)
            if name == "row":
                row = max(_parse_number(each.get("r")), row + 1)  # a smaller number would overwrite rows
                if texts := self._read_row(each):
                    self._sheet.add_row(row, texts)
                    self._sheet.hidden_rows += each.get("hidden") in _TRUE or each.get("ht") == "0"
                each.clear()
            elif name == "col" and (each.get("hidden") in _TRUE or each.get("width") == "0"):
                hidden.append(range(_parse_number(each.get("min")) - 1, _parse_number(each.get("max"))))
            elif name in _PAGE_TEXTS:
                self._book.notes.add_page_text(_PAGE_CODE.sub(" ", str(each.text or "")).replace("&&", "&"))
        if hidden:
            filled = {at for row in self._sheet.rows for at, cell in enumerate(row) if cell}
            self._sheet.hidden_columns = sum(any(at in columns for columns in hidden) for at in filled)
        self._read_links()

    def _read_row(self, row: Any) -> dict[int, str]:
        cells: dict[int, str] = {}
        column, styles = -1, self._book.styles
        for cell in row:
            if get_local_name(cell) != "c":
                continue
            place = cell.get("r", "").rstrip("0123456789")
            column = _find_column(place) if place else column + 1
            at = _parse_number(cell.get("s"))
            style = styles[at] if at < len(styles) else _PLAIN
            if text := join_lines(self._read_cell(cell, style)):
                cells[column] = strike_text(text) if style.is_struck and "~~" not in text else text
        return cells

    def _read_cell(self, cell: Any, style: _Style) -> str:
        parts = {get_local_name(each): each for each in cell}
        kind = cell.get("t", "n")
        value = None if (part := parts.get("v")) is None else str(part.text or "")
        formula = parts.get("f")
        if formula is not None and (text := self._read_formula(formula, cell.get("r", ""))):
            is_unset = not value and (kind != "str" or value is None)
            if is_unset or (self._book.is_recomputed and kind == "n" and value == "0"):
                self._book.notes.uncomputed += 1
                return text
        if kind == "inlineStr":
            found = _read_runs(parts["is"]) if "is" in parts else ""
            return self._join(found, style)
        return self._show(kind, value, style) if value else ""

    def _show(self, kind: str, value: str, style: _Style) -> str:
        if kind == "n":
            return format_number(value.strip(), style.form, since_1904=self._book.since_1904)
        if kind == "s":
            return self._join(self._book.strings[int(value)], style)
        if kind == "str":
            return _unescape(value)
        if kind == "b":
            return "TRUE" if value.strip() in _TRUE else "FALSE"
        if kind == "d":
            with suppress(ValueError):
                return format_datetime(datetime.fromisoformat(value.strip()))
        return value

    @staticmethod
    def _join(text: str | list[Run], style: _Style) -> str:
        if isinstance(text, str):
            return text
        return join_runs(
            (words, script, style.is_struck if is_struck is None else is_struck)
            for words, script, is_struck in text
        )

    def _read_formula(self, formula: Any, cell: str) -> str:
        text, key = join_lines(formula.text or ""), str(formula.get("si") or "")
        if formula.get("t") == "shared" and text:
            self._formulas[key] = cell
        elif key in self._formulas:  # a shared formula refers to other cells here
            return f"= as in {self._formulas[key]}"
        return f"={_NEWER.sub('', text)}" if text else ""

    def _read_links(self) -> None:
        """Read text boxes, and count comments, images, and charts."""
        package, notes = self._book.package, self._book.notes
        links = [each for each in package.get_relationships(self._part).values() if package.has(each.target)]
        threaded = any(each.kind == "threadedComment" for each in links)
        for kind, part, _ in links:
            if kind == "drawing":
                self._read_drawing(part)
            elif kind == "threadedComment" or (kind == "comments" and not threaded):
                for each in package.parse(part).iter():
                    if get_local_name(each) in {"threadedComment", "comment"}:
                        words = (
                            str(word.text or "")
                            for word in each.iter()
                            if get_local_name(word) in {"t", "text"}
                        )
                        notes.count_skipped("comments on cells", "".join(words))

    def _read_drawing(self, part: str) -> None:
        package, notes = self._book.package, self._book.notes
        for each in package.parse(part).iter():
            name = get_local_name(each)
            if name == "txBody":
                self._sheet.texts += read_lines(each)
            elif name == "pic":
                notes.count_skipped("pictures")
            elif name == "graphicData" and each.get("uri", "").endswith("/diagram"):
                notes.count_skipped("diagrams")
            elif name == "chart":
                chart = package.get_target(part, each.get(qualify("r:id"), ""))
                root = package.parse(chart) if chart else None
                title = None if root is None else next(root.iter(qualify("c:title")), None)
                notes.count_skipped("charts", "" if title is None else " ".join(read_lines(title)))


@cache
def _find_column(letters: str) -> int:
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - 64
    return column - 1


def _parse_number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0
