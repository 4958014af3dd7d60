"""CSV and TSV: one table."""

from __future__ import annotations

import csv
import io

from kg_api.convert.markdown_text import MarkdownWriter
from kg_api.convert.spreadsheet import MAX_CELLS, trimmed, write_rows
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted
from kg_api.parse.declared import decode

_SAMPLE = 64_000
_DELIMITERS = ",;\t|"
_LINES = 50
csv.field_size_limit(16 * 1024 * 1024)


def convert(data: bytes) -> Converted:
    """Make Markdown of a table of delimited values.

    Raises:
        UnreadableDocument: it is no text, or it has no values.
    """
    if data.startswith((b"PK\x03\x04", b"%PDF-", b"\xd0\xcf\x11\xe0", b"\x89PNG")):
        raise UnreadableDocument("it is not a CSV file but another kind of file; name it for what it is")
    text, notes = decode(data)
    writer = MarkdownWriter()
    write_rows(writer, trimmed(_rows(text)))
    if not writer.text():
        raise UnreadableDocument("it holds no values; nothing was stored")
    return Converted(writer.text(), notes=notes)


def _rows(text: str) -> list[list[str]]:
    delimiter = _delimiter(text[:_SAMPLE])
    rows: list[list[str]] = []
    cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append([" ".join(cell.split()) for cell in row])
            cells += len(row)
            if cells > MAX_CELLS:
                raise UnreadableDocument(f"it has more than {MAX_CELLS:,} cells; split it")
    except csv.Error as error:
        raise UnreadableDocument(f"line {len(rows) + 1:,} of it is not as CSV is written: {error}") from error
    return rows


def _delimiter(sample: str) -> str:
    """The one that parts the first lines into most columns, all alike; csv.Sniffer may take a letter."""
    best, columns = ",", 1.0
    for delimiter in _DELIMITERS:
        try:
            widths = [
                len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row
            ]
        except csv.Error:
            continue
        alike = sum(width == widths[0] for width in widths) / len(widths) if widths else 0
        if widths and widths[0] > 1 and widths[0] * alike * alike > columns:
            best, columns = delimiter, widths[0] * alike * alike
    return best
