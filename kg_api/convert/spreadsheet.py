"""XLSX, XLS and ODS: each sheet a heading and a table."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, cast

import python_calamine

from kg_api.convert.files.about import metadata
from kg_api.convert.files.archive import open_archive, read_entry
from kg_api.convert.files.office import core_properties, read_xml
from kg_api.convert.markdown_text import MarkdownWriter, heading, one_line, paragraph, table
from kg_api.convert.opendocument import sheets
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted

MAX_CELLS = 2_000_000
"""Between the first and the last that is filled, in one sheet; a list of more cells is a database."""
_KIND = "a spreadsheet (XLSX, XLS or ODS)"
_CORNER = re.compile(rb"<(?:\w+:)?c\b[^>]*?\br=\"([A-Z]{1,3})([0-9]{1,7})\"")
_EXACT = 1e15
_ROW = re.compile(rb"<table:table-row\b([^>]*)>(.*?)</table:table-row>", re.DOTALL)
_REPEATED = re.compile(rb"number-rows-repeated=\"([0-9]{1,9})\"")
_FILLED = re.compile(rb"number-columns-repeated=\"([0-9]{1,9})\"(?=[^>]*[^/>]>)")


def convert(data: bytes) -> Converted:
    """Make Markdown of a workbook.

    Raises:
        UnreadableDocument: it is none, it is damaged, encrypted or too large, or all its sheets are empty.
    """
    archive = None if data.startswith(b"\xd0\xcf\x11\xe0") else _checked(data)
    workbook, shown = _open(data), _as_shown(archive)
    writer, pages, notes = MarkdownWriter(), list[int](), list[str]()
    filled = 0
    for sheet in workbook.sheets_metadata:
        if "WorkSheet" not in str(sheet.typ):
            notes.append(f"left out: {sheet.name!r}, which is no sheet with cells")
            continue
        if "Visible" not in str(sheet.visible):
            notes.append(f"the sheet {sheet.name!r} is hidden in the workbook; it was read all the same")
        pages.append(writer.position)
        name = str(sheet.name)
        rows = trimmed(shown[name]) if name in shown else _cells(workbook, name)
        filled += len(rows)
        writer.add(heading(2, name))
        write_rows(writer, rows)
    if not filled:
        raise UnreadableDocument("all its sheets are empty; nothing was stored")
    title, about = core_properties(archive) if archive else ("", metadata())
    return Converted(writer.text(), title, about, tuple(pages), tuple(notes))


def _checked(data: bytes) -> zipfile.ZipFile:
    """Look at the sizes that sheets claim: the library makes a cell for each place between the corners."""
    archive = open_archive(data, _KIND)
    for name in archive.namelist():
        if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name):
            sheet = read_entry(archive, name)
            places = [(_column(found[1]), int(found[2])) for found in _CORNER.finditer(sheet)]
            if places and _extent([at for at, _ in places]) * _extent([at for _, at in places]) > MAX_CELLS:
                raise _too_large(name)
        elif name == "content.xml" and _repeated(read_entry(archive, name)) > MAX_CELLS:
            raise _too_large(name)
    return archive


def _extent(places: list[int]) -> int:
    return max(places) - min(places) + 1


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _repeated(sheet: bytes) -> int:
    """The most cells that filled rows of an ODS file may stand for; the blank rest of a sheet is no cell."""
    total = 0
    for row in _ROW.finditer(sheet):
        if b"office:value" in row[2] or b"<text:p" in row[2]:
            repeated = max(map(int, _REPEATED.findall(row[1])), default=1)
            total += repeated * (row[2].count(b"<table:table-cell") + sum(map(int, _FILLED.findall(row[2]))))
    return total


def _too_large(name: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name!r} in it has more than {MAX_CELLS:,} cells between its first and its last; "
        "save the part that is meant as CSV"
    )


def _as_shown(archive: zipfile.ZipFile | None) -> dict[str, list[list[str]]]:
    """The sheets of an ODS file, which holds each cell as it is shown, too."""
    if archive is None or "content.xml" not in archive.namelist():
        return {}
    found: dict[str, list[list[str]]] = {}
    with _damage(_KIND):
        for name, rows in sheets(read_xml(read_entry(archive, "content.xml"), "content.xml"), MAX_CELLS):
            if rows is None:
                raise _too_large(name)
            found[name] = rows
    return found


def _open(data: bytes) -> Any:
    with _damage(_KIND):
        return cast("Any", python_calamine).CalamineWorkbook.from_filelike(io.BytesIO(data))


@contextmanager
def _damage(what: str) -> Generator[None]:
    """Turn whatever the library raises into one error; a panic of it is no `Exception`."""
    try:
        yield
    except UnreadableDocument:
        raise
    except python_calamine.PasswordError as error:
        raise UnreadableDocument("it is encrypted; save it without a password") from error
    except BaseException as error:
        if isinstance(error, Exception) or "Panic" in type(error).__name__:
            raise UnreadableDocument(f"it is not {what}, or a damaged one ({error}); save it anew") from error
        raise


def _cells(workbook: Any, name: str) -> list[list[str]]:
    with _damage(f"a sheet that can be read: {name!r}"):
        sheet = workbook.get_sheet_by_name(name)
        if int(sheet.height) * int(sheet.width) > MAX_CELLS:
            raise _too_large(name)
        return trimmed([[as_words(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)])


def write_rows(writer: MarkdownWriter, rows: list[list[str]]) -> None:
    """A table; a single row is a paragraph."""
    writer.add(paragraph(" ".join(rows[0])) if len(rows) == 1 else table(rows))


def trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Without empty rows anywhere, and without empty columns at the edges."""
    filled = [row for row in rows if any(row)]
    if not filled:
        return []
    first = min(next(at for at, cell in enumerate(row) if cell) for row in filled)
    last = max(next(at for at in range(len(row), 0, -1) if row[at - 1]) for row in filled)
    return [row[first:last] for row in filled]


def as_words(value: object) -> str:
    """A cell of XLSX and XLS as a reader may see it: dates as ISO 8601, whole numbers without a point."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return one_line(str(value)) if isinstance(value, str | int | timedelta) else ""
