"""PDF to Markdown: pages to pieces with places and fonts, to columns and lines, to blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pypdfium2 as pdfium

from kg_api.convert.pdf.blocks import blocks
from kg_api.convert.pdf.characters import PageText, read
from kg_api.convert.pdf.columns import columns
from kg_api.convert.pdf.document import metadata, opened, outline, title
from kg_api.convert.pdf.headings import headings
from kg_api.convert.pdf.layout import Column, Line
from kg_api.convert.pdf.markdown import markdown
from kg_api.convert.pdf.repeated import leave_out
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted


def convert(data: bytes) -> Converted:
    """Read a PDF's text in reading order, with its headings, lists and code."""
    with opened(data) as document:
        pages = [_page(document, number) for number in range(len(document))]
        without = [number for number, page in enumerate(pages, 1) if not (page.pieces or page.across)]
        empty = [number for number in without if not pages[number - 1].is_blank]
        if len(without) == len(pages):
            raise UnreadableDocument(
                "the PDF has no text, it seems to be scanned: "
                "run OCR over it (ocrmypdf, for example), and add that file"
            )
        notes = _notes(empty, leave_out(pages))
        lines = [line for number, page in enumerate(pages) for line in _lines(page, number)]
        found = blocks(lines, headings(lines, outline(document)))
        text, offsets = markdown(found, len(pages))
        return Converted(text, title(document), metadata(document), offsets, notes)


def _page(document: pdfium.PdfDocument, number: int) -> PageText:
    """Read a page; one that is broken has no text, as if it were a picture."""
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return PageText(0)
    try:
        return read(page)
    except pdfium.PdfiumError:
        return PageText(0)
    finally:
        page.close()


def _lines(page: PageText, number: int) -> list[Line]:
    """Give a page's lines in reading order, at the end what stands across them, each piece by itself."""
    found = [line for column in columns(page.pieces, number) for line in column.lines]
    aside = [Line([piece], number, Column(piece.left, piece.right)) for piece in page.across]
    return found + aside


def _notes(empty: Sequence[int], repeated: tuple[int, int]) -> tuple[str, ...]:
    notes: list[str] = []
    lines, pages = repeated
    if lines:
        notes.append(f"{lines} repeated headers, footers and page numbers on {pages} pages are left out")
    if empty:
        page, has, it = ("pages", "have", "they are") if len(empty) > 1 else ("page", "has", "it is")
        pictures = "scanned pictures" if len(empty) > 1 else "a scanned picture"
        notes.append(f"{page} {_ranges(empty)} {has} no text ({pictures}?): {it} not found")
    return tuple(notes)


def _ranges(numbers: Sequence[int]) -> str:
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
