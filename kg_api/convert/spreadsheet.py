"""Conversion of XLSX, XLS, and ODS: each sheet becomes a heading with its tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, cast

import python_calamine

from kg_api.convert.shared.accounting import describe_missing
from kg_api.convert.shared.containers import (
    build_metadata,
    get_local_name,
    open_archive,
    read_core_properties,
    read_entry,
    read_xml,
)
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines, write_heading, write_paragraph
from kg_api.convert.shared.number_format import format_datetime, format_duration, write_digits
from kg_api.convert.sheets import MAX_CELLS, Sheet, SheetNotes, report_too_large, write_grid
from kg_api.convert.xlsx import read_xlsx_sheets
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted

_KIND = "a spreadsheet (XLSX, XLS or ODS)"
_OLE = b"\xd0\xcf\x11\xe0"
_EXACT = 2**53
_LONG_TIME = re.compile(rb"(:time-value=[\"']-?)PT(2[4-9]|[3-9]\d|\d{3,})H(\d\d)M(\d\d(?:\.\d+)?)S(?=[\"'])")
"""Time of a day or more in ODS. calamine returns such a value as written, like a text."""
_GAP = re.compile(rb"(?<=>)\s+(?=</?table:)")
_VALUES_ONLY = (
    "kg reads only values of .xls and .ods files. Number formats such as percent, errors, formulas without a "
    "result, struck text, hidden rows, comments and text boxes are missing. Save it as .xlsx to keep them"
)


def convert(data: bytes) -> Converted:
    archive = None if data.startswith(_OLE) else open_archive(data, _KIND)
    writer, pages, notes = MarkdownWriter(), list[int](), SheetNotes()
    descriptions, has_text = list[str](), False
    with _report_damage(_KIND):
        is_ods = archive is not None and "content.xml" in archive.namelist()
        if archive is None or is_ods:
            sheets = _read_values(_rewrite_ods(archive, data) if archive else data, notes)
            descriptions.append(_VALUES_ONLY)
        else:
            sheets = read_xlsx_sheets(archive, notes)
        for sheet in sheets:
            pages.append(writer.position)
            writer.add(write_heading(2, sheet.name))
            before = writer.position
            write_grid(writer, sheet.rows)
            for text in sheet.texts:
                writer.add(write_paragraph(text))
            has_text = has_text or writer.position > before
            descriptions += _describe_hidden(sheet)
        if archive and is_ods:
            descriptions += describe_missing(_read_ods_words(archive, notes), writer.text(), "the workbook")
    if not has_text:
        lines = [each for each in (*descriptions, *notes.describe()) if each != _VALUES_ONLY]
        raise UnreadableDocument("; ".join(["all sheets are empty", *lines]) + ". Nothing was stored")
    title, about = read_core_properties(archive) if archive else ("", build_metadata())
    return Converted(writer.text(), title, about, tuple(pages), (*descriptions, *notes.describe()))


def _describe_hidden(sheet: Sheet) -> Iterator[str]:
    if sheet.hidden:
        yield f"kg read the sheet {sheet.name!r}, although it is hidden in the workbook"
    if sheet.hidden_rows or sheet.hidden_columns:
        counts = f"rows: {sheet.hidden_rows:,}, columns: {sheet.hidden_columns:,}"
        yield f"hidden parts of {sheet.name!r} were read all the same ({counts})"


@contextmanager
def _report_damage(what: str) -> Generator[None]:
    """Convert any error of a reader to `UnreadableDocument`. A panic of calamine is not an `Exception`."""
    try:
        yield
    except UnreadableDocument:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or "Panic" in type(error).__name__:
            raise UnreadableDocument(
                f"the file is not {what}, is encrypted, or is damaged ({error}). Save the file again, "
                "without a password"
            ) from error
        raise


def _rewrite_ods(archive: zipfile.ZipFile, data: bytes) -> bytes:
    """Remove whitespace in tables, which calamine rejects, and write long times readably."""
    content = read_entry(archive, "content.xml")
    readable = _LONG_TIME.sub(rb"\1\2:\3:\4", _GAP.sub(b"", content))
    if readable == content:
        return data
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for name in ("mimetype", "META-INF/manifest.xml"):
            if name in archive.namelist():
                written.writestr(name, read_entry(archive, name))
        written.writestr("content.xml", readable)
    return out.getvalue()


def _read_values(data: bytes, notes: SheetNotes) -> Iterator[Sheet]:
    workbook = cast("Any", python_calamine).CalamineWorkbook.from_filelike(io.BytesIO(data))
    for each in workbook.sheets_metadata:
        name = str(each.name)
        if "WorkSheet" not in str(each.typ):
            notes.count_skipped("sheets without cells", name)
            continue
        cells = workbook.get_sheet_by_name(name)
        if int(cells.height) * int(cells.width) > MAX_CELLS:
            raise report_too_large(name)
        rows = [[_show_value(cell) for cell in row] for row in cells.to_python(skip_empty_area=True)]
        yield Sheet(name, hidden="Visible" not in str(each.visible), rows=rows)


def _read_ods_words(archive: zipfile.ZipFile, notes: SheetNotes) -> Iterator[str]:
    """Yield the paragraphs of an ODS file that are not the display of a number, and count unset formulas."""
    numbers = set[Any]()
    for each in read_xml(read_entry(archive, "content.xml"), "content.xml").iter():
        attributes = {key.rpartition("}")[2]: value for key, value in each.attrib.items()}
        if get_local_name(each) == "table-cell":
            if attributes.get("value-type", "string") != "string":
                numbers.update(each)
            has_value = len(each) or any(key.endswith("value") for key in attributes)
            if "formula" in attributes and not has_value:
                notes.count_skipped("formulas without a stored result", attributes["formula"])
        elif get_local_name(each) == "p" and each not in numbers:
            yield "".join(each.itertext())


def _show_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else write_digits(repr(value))
    if isinstance(value, datetime):
        return format_datetime(value)
    if isinstance(value, timedelta):
        return format_duration(value.total_seconds())
    if isinstance(value, date | time):
        return value.isoformat()
    return join_lines(str(value)) if isinstance(value, str | int) else ""
