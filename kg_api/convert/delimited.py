"""Conversion of CSV and TSV to Markdown titles and tables."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

from kg_api.convert.shared.markdown_text import MarkdownWriter
from kg_api.convert.sheets import MAX_CELLS, write_grid
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.text.decoding import decode_declared, find_binary_kind

_SAMPLE = 64_000
_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r"""\s*"?sep=([^\r\n])"?[ \t]*(?:\r\n|\r|\n|$)""", re.IGNORECASE)
csv.field_size_limit(16 * 1024 * 1024)


def convert(data: bytes) -> Converted:
    if what := find_binary_kind(data):
        raise UnreadableDocument(f"the file is not CSV but {what}. Rename the file to match its content")
    text, notes = decode_declared(data)
    writer = MarkdownWriter()
    write_grid(writer, _read_rows(text))
    if not writer.text():
        raise UnreadableDocument("the file contains no values. Nothing was stored")
    return Converted(writer.text(), notes=notes)


def _read_rows(text: str) -> list[list[str]]:
    delimiter = ""
    if declaration := _DECLARED.match(text):  # `sep=` line, which spreadsheet programs hide
        delimiter, text = declaration[1], text[declaration.end() :]
    delimiter = delimiter or _find_delimiter(text[:_SAMPLE])
    rows: list[list[str]] = []
    cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append([" ".join(cell.split()) for cell in row])
            cells += len(row)
            if cells > MAX_CELLS:
                raise UnreadableDocument(f"the file has more than {MAX_CELLS:,} cells. Split the file")
    except csv.Error as error:
        raise UnreadableDocument(f"line {len(rows) + 1:,} of the file is not valid CSV: {error}") from error
    return rows


def _find_delimiter(sample: str) -> str:
    """Find the delimiter that gives most lines equally many columns. `csv.Sniffer` may return a letter."""
    best, most = ",", 0.2  # below about a third of the lines, the text is prose with punctuation
    for delimiter in _DELIMITERS:
        rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in rows if row)
        for width, count in widths.items():
            alike = count / widths.total()
            if width > 1 and width * alike * alike > most:
                best, most = delimiter, width * alike * alike
    return best
