"""XLSX workbooks: the cells of each sheet as a reader sees them.

Fast libraries return values without number formats. Others take six times as long and lose raised text. None
tells a formula without a stored result from an empty cell. The format is plain enough to be read here.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from kg_api.convert.shared.containers import read_entry, read_xml
from kg_api.convert.shared.markdown_text import one_line
from kg_api.convert.shared.number_format import (
    GENERAL,
    NumberFormat,
    find_builtin_format,
    format_datetime,
    format_number,
    format_text,
    parse_number_format,
)
from kg_api.convert.sheet_xml import TRUE, Cell, SheetXml, read_attributes, read_strings
from kg_api.convert.sheets import (
    GridBuilder,
    Sheet,
    SheetNotes,
    join_runs,
    name_column,
    name_ranges,
    strike_text,
)
from kg_api.errors import UnreadableDocument

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7}):\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_REFERENCE = re.compile(
    r"""(?P<kept>"[^"]*"|'[^']*'!?|\[[^\]]*\])|(?<![\w.])(\$?)([A-Z]{1,3})(\$?)([1-9][0-9]{0,6})(?![\w(.!])"""
)
"""Cells that a formula names; what stands in quotes or brackets is no cell."""
_NEWER = re.compile(r"_xl(?:fn|ws|pm|udf)\.")
_PAGE_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|(?![PN])[A-Za-z+-])')
_PAGE_TEXTS = frozenset({"oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"})

Run = tuple[str, str, bool | None]
"""Text, `super` or `sub` or nothing, and whether it is struck; none: as its cell is."""


class _Style(NamedTuple):
    form: NumberFormat = GENERAL
    is_struck: bool = False
    is_bold: bool = False


_PLAIN = _Style()


@dataclass(slots=True)
class _Book:
    archive: zipfile.ZipFile
    notes: SheetNotes
    names: frozenset[str]
    strings: list[str | list[Run]] = field(default_factory=list[str | list[Run]])
    styles: list[_Style] = field(default_factory=list[_Style])
    since_1904: bool = False
    is_recomputed: bool = False
    """Whether programs shall compute it when they open it, since the one that wrote it did not."""


def read_xlsx_sheets(archive: zipfile.ZipFile, notes: SheetNotes) -> Iterator[Sheet]:
    """Read the sheets of a workbook in its order.

    Raises:
        UnreadableDocument: it is another kind of file, a part is damaged, or a sheet has too many cells.
    """
    names = frozenset(archive.namelist())
    main = dict(_read_links(archive, names, "").values()).get("officeDocument") or "xl/workbook.xml"
    if main not in names or not main.endswith(".xml"):
        raise UnreadableDocument(f"it is a ZIP archive but not a spreadsheet: it has no {main}")
    root = read_xml(read_entry(archive, main), main)
    if _name(root) != "workbook":
        raise UnreadableDocument(f"it is not a spreadsheet: {main} in it is no workbook")
    links = _read_links(archive, names, main)
    book = _Book(archive, notes, names)
    parts = {"styles": "xl/styles.xml", "sharedStrings": "xl/sharedStrings.xml", **dict(links.values())}
    if (part := parts["styles"]) in names:
        book.styles = _read_styles(read_xml(read_entry(archive, part), part))
    if (part := parts["sharedStrings"]) in names:
        book.strings = list(_read_strings(archive, part))
    said = {_name(each): each.attrib for each in root.iter()}
    book.since_1904 = said.get("workbookPr", {}).get("date1904") in TRUE
    book.is_recomputed = said.get("calcPr", {}).get("fullCalcOnLoad") in TRUE
    for each in [each for each in root.iter() if _name(each) == "sheet"]:
        name = str(each.get("name") or "")
        kind, part = links.get(_attribute(each, "id"), ("", ""))
        if kind == "worksheet":
            sheet = Sheet(name, hidden=each.get("state") in {"hidden", "veryHidden"})
            _SheetReader(book, sheet, part).read()
            yield sheet
        else:
            notes.leave_out("sheets without cells", name)


def _read_strings(archive: zipfile.ZipFile, part: str) -> Iterator[str | list[Run]]:
    for each in read_strings(read_entry(archive, part), part):
        text = _unescape(each) if isinstance(each, str) else _read_runs(each)
        yield one_line(text) if isinstance(text, str) else text


def _read_links(archive: zipfile.ZipFile, names: frozenset[str], part: str) -> dict[str, tuple[str, str]]:
    """Return kind and path of the parts that a part refers to, by their ids."""
    folder, name = posixpath.split(part)
    place = posixpath.join(folder, "_rels", f"{name}.rels")
    if place not in names:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for each in read_xml(read_entry(archive, place), place):
        if each.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, str(each.get("Target") or "")))
            found[str(each.get("Id"))] = str(each.get("Type") or "").rpartition("/")[2], target.lstrip("/")
    return found


def _read_styles(root: Any) -> list[_Style]:
    forms: dict[int, NumberFormat] = {}
    fonts = list[Any]()
    styles = list[_Style]()
    for each in root:
        if _name(each) == "numFmts":
            for form in each:
                forms[_number(form.get("numFmtId"))] = parse_number_format(str(form.get("formatCode") or ""))
        elif _name(each) == "fonts":
            fonts = list(each)
        elif _name(each) == "cellXfs":
            for xf in each:
                form, font = _number(xf.get("numFmtId")), _number(xf.get("fontId"))
                marks = fonts[font] if font < len(fonts) else ()
                styles.append(
                    _Style(
                        forms.get(form) or find_builtin_format(form),
                        is_struck=_is_on(marks, "strike"),
                        is_bold=_is_on(marks, "b"),
                    )
                )
    return styles


def _is_on(marks: Any, name: str) -> bool:
    return any(_name(each) == name and each.get("val", "1") not in {"0", "false"} for each in marks)


def _read_runs(element: Any) -> str | list[Run]:
    """Read a text; its reading aid for Japanese is no part of it."""
    runs = list[Run]()
    for each in element:
        if _name(each) == "t":
            runs.append((_unescape(each.text), "", None))
        elif _name(each) == "r":
            marks = next((part for part in each if _name(part) == "rPr"), None)
            text = "".join(_unescape(part.text) for part in each if _name(part) == "t")
            script = next((str(mark.get("val")) for mark in marks or () if _name(mark) == "vertAlign"), "")
            script = {"superscript": "super", "subscript": "sub"}.get(script, "")
            runs.append((text, script, None if marks is None else _is_on(marks, "strike")))
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
        self._grid = GridBuilder(sheet.name)
        self._formulas: dict[str, tuple[str, int, int]] = {}
        """Formulas that several cells share, each with the row and column that it is written for."""
        self._columns: dict[str, int] = {}
        """Columns by their letters."""
        self._looks: dict[str, tuple[str, _Style]] = {}
        """Kinds and styles of cells by their attributes."""
        data = read_entry(book.archive, part)
        self._xml = SheetXml(data, part, has_results=not book.is_recomputed)

    def read(self) -> None:
        hidden_columns, hidden_rows, bold = list[range](), list[int](), list[int]()
        merges = list[tuple[int, int, int, int]]()
        row = 0
        for number, is_hidden, cells in self._xml.read_rows():
            row = max(number, row + 1)  # rows that go back would overwrite others
            texts, is_bold = self._read_row(cells, row)
            if texts:
                self._grid.add_row(row, texts)
                if is_bold:
                    bold.append(row)
                if is_hidden:
                    hidden_rows.append(row)
        for each in self._xml.frame:
            name = _name(each)
            if name == "col" and (each.get("hidden") in TRUE or each.get("width") == "0"):
                hidden_columns.append(range(_number(each.get("min")) - 1, _number(each.get("max"))))
            elif name == "mergeCell" and (found := _RANGE.fullmatch(str(each.get("ref") or ""))):
                left, top, right, bottom = found.groups()
                merges.append((int(top), self._find_column(left), int(bottom), self._find_column(right)))
            elif name in _PAGE_TEXTS:
                self._book.notes.add_page_text(_PAGE_CODE.sub(" ", str(each.text or "")).replace("&&", "&"))
        self._finish(hidden_columns, hidden_rows, bold, merges)

    def _finish(
        self,
        hidden_columns: Sequence[range],
        hidden_rows: Sequence[int],
        bold: Sequence[int],
        merges: Sequence[tuple[int, int, int, int]],
    ) -> None:
        sheet, top, first = self._sheet, self._grid.top, self._grid.left
        sheet.rows = self._grid.build()
        sheet.bold = {row - top for row in bold}
        sheet.merges = [
            (upper - top, left - first, lower - top, right - first)
            for upper, left, lower, right in merges
            if upper >= top and left >= first
        ]
        sheet.hidden_rows = name_ranges(hidden_rows)
        if hidden_columns:
            filled = {first + at for row in sheet.rows for at, cell in enumerate(row) if cell}
            hidden = [column for column in filled if any(column in columns for columns in hidden_columns)]
            sheet.hidden_columns = name_ranges(hidden, name_column)
        self._read_links()

    def _read_row(self, row: list[Cell], number: int) -> tuple[dict[int, str], bool]:
        """Return the filled cells of a row by their columns, and whether all of them are bold."""
        cells: dict[int, str] = {}
        looks, columns, strings = self._looks, self._columns, self._book.strings
        column, all_bold, since_1904 = -1, True, self._book.since_1904
        for letters, attributes, value, other, _ in row:
            if letters:
                column = columns[letters] if letters in columns else self._find_column(letters)
                if not value:
                    continue
                kind, style = looks[attributes] if attributes in looks else self._read_look(attributes)
                form, is_struck, is_bold = style
                if kind == "n":
                    text = value
                    if form is not GENERAL or not value.isdecimal():
                        text = one_line(format_number(value, form, since_1904=since_1904))
                elif kind != "s" or form.sections or not isinstance(text := strings[int(value)], str):
                    text = one_line(self._show(kind, value, style))
            elif other and _name(element := self._xml.parse(other)) == "c":
                place = element.get("r", "").rstrip("0123456789")
                column = self._find_column(place) if place else column + 1
                style = self._get_style(element.get("s", "0"))
                text = one_line(self._read_cell(element, style, number, column))
                _, is_struck, is_bold = style
            else:
                continue
            if text:
                cells[column] = strike_text(text) if is_struck and "~~" not in text else text
                all_bold = all_bold and is_bold
        return cells, all_bold

    def _read_look(self, attributes: str) -> tuple[str, _Style]:
        said = read_attributes(attributes)
        look = self._looks[attributes] = said.get("t", "n"), self._get_style(said.get("s", "0"))
        return look

    def _get_style(self, at: str) -> _Style:
        styles = self._book.styles
        return styles[int(at)] if at.isdecimal() and int(at) < len(styles) else _PLAIN

    def _find_column(self, letters: str) -> int:
        column = 0
        for letter in letters.upper():
            column = column * 26 + ord(letter) - 64
        self._columns[letters] = column - 1
        return column - 1

    def _read_cell(self, cell: Any, style: _Style, row: int, column: int) -> str:
        parts = {_name(each): each for each in cell}
        kind = cell.get("t", "n")
        value = None if (part := parts.get("v")) is None else str(part.text or "")
        formula = parts.get("f")
        if formula is not None and (text := self._read_formula(formula, row, column)):
            is_unset = not value and (kind != "str" or value is None)
            if is_unset or (self._book.is_recomputed and kind == "n" and value == "0"):
                self._book.notes.uncomputed += 1
                return text
        if kind == "inlineStr":
            found = _read_runs(parts["is"]) if "is" in parts else ""
            return format_text(self._join(found, style), style.form)
        return self._show(kind, value, style) if value else ""

    def _show(self, kind: str, value: str, style: _Style) -> str:
        if kind == "n":
            return format_number(value.strip(), style.form, since_1904=self._book.since_1904)
        if kind == "s":
            return format_text(self._join(self._book.strings[int(value)], style), style.form)
        if kind == "str":
            return format_text(_unescape(value), style.form)
        if kind == "b":
            return "TRUE" if value.strip() in TRUE else "FALSE"
        return _show_date(value) if kind == "d" else value

    @staticmethod
    def _join(text: str | list[Run], style: _Style) -> str:
        if isinstance(text, str):
            return text
        return join_runs(
            (words, script, style.is_struck if is_struck is None else is_struck)
            for words, script, is_struck in text
        )

    def _read_formula(self, formula: Any, row: int, column: int) -> str:
        text, key = one_line(formula.text or ""), str(formula.get("si") or "")
        if formula.get("t") == "shared":
            if text:
                self._formulas[key] = text, row, column
            elif key in self._formulas:
                text, from_row, from_column = self._formulas[key]
                text = move_formula(text, row - from_row, column - from_column)
        return f"={_NEWER.sub('', text)}" if text else ""

    def _read_links(self) -> None:
        """Read text boxes, and count what else lies on the sheet."""
        links = [*_read_links(self._book.archive, self._book.names, self._part).values()]
        threaded = any(kind == "threadedComment" for kind, _ in links)
        for kind, part in links:
            if part not in self._book.names:
                continue
            if kind == "drawing":
                self._read_drawing(part)
            elif kind == "threadedComment" or (kind == "comments" and not threaded):
                for each in self._read_part(part).iter():
                    if _name(each) in {"threadedComment", "comment"}:
                        words = "".join(
                            str(part.text or "") for part in each.iter() if _name(part) in {"t", "text"}
                        )
                        self._book.notes.leave_out("comments on cells", words)

    def _read_part(self, part: str) -> Any:
        return read_xml(read_entry(self._book.archive, part), part)

    def _read_drawing(self, part: str) -> None:
        links = _read_links(self._book.archive, self._book.names, part)
        for each in _walk(self._read_part(part)):
            name = _name(each)
            if name == "txBody":
                self._sheet.texts += _read_paragraphs(each)
            elif name == "pic":
                self._book.notes.leave_out("pictures")
            elif name == "graphicData":
                if str(each.get("uri") or "").endswith("/diagram"):
                    self._book.notes.leave_out("diagrams")
            elif name == "chart":
                chart = links.get(_attribute(each, "id"), ("", ""))[1]
                root = self._read_part(chart) if chart in self._book.names else ()
                title = next((title for title in _iterate(root) if _name(title) == "title"), ())
                self._book.notes.leave_out("charts", " ".join(_read_paragraphs(title)))


def move_formula(text: str, down: int, right: int) -> str:
    """Return a shared formula as it reads some rows further down and columns further right."""

    def move(found: re.Match[str]) -> str:
        if found["kept"]:
            return found["kept"]
        fixed_column, letters, fixed_row, number = found.groups()[1:]
        column = 0
        for letter in letters:
            column = column * 26 + ord(letter) - 64
        shown = letters if fixed_column else name_column(column - 1 + right)
        return f"{fixed_column}{shown}{fixed_row}{int(number) + (0 if fixed_row else down)}"

    return _REFERENCE.sub(move, text)


def _show_date(value: str) -> str:
    try:
        return format_datetime(datetime.fromisoformat(value.strip()))
    except ValueError:
        return value


def _read_paragraphs(element: Any) -> list[str]:
    paragraphs = list[str]()
    for each in _iterate(element):
        if _name(each) != "p":
            continue
        runs = list[Run]()
        for run in each:
            marks = {
                str(key): str(value)
                for part in run
                if _name(part) == "rPr"
                for key, value in part.attrib.items()
            }
            raised = _number(marks.get("baseline", "0").rstrip("%"))
            script = "super" if raised > 0 else "sub" if raised < 0 else ""
            is_struck = marks.get("strike", "noStrike") != "noStrike"
            text = (
                " "
                if _name(run) == "br"
                else "".join(str(part.text or "") for part in run if _name(part) == "t")
            )
            runs.append((text, script, is_struck))
        if words := one_line(join_runs((text, script, bool(is_struck)) for text, script, is_struck in runs)):
            paragraphs.append(words)
    return paragraphs


def _walk(element: Any) -> Iterator[Any]:
    """Return the elements of a drawing; of what is there in two forms only the first."""
    yield element
    for each in element:
        if _name(each) != "Fallback":
            yield from _walk(each)


def _iterate(element: Any) -> Iterator[Any]:
    return element.iter() if hasattr(element, "iter") else iter(())


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _attribute(element: Any, name: str) -> str:
    """Return an attribute of another namespace, which differs between the two forms of the standard."""
    return next((str(value) for key, value in element.attrib.items() if key.endswith(f"}}{name}")), "")


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0
