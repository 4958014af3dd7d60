"""PDF to Markdown: pages to pieces with places and fonts, to columns and lines, to blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import pypdfium2 as pdfium

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.pdf.blocks import blocks
from kg_api.convert.pdf.characters import PageText, read, without_text
from kg_api.convert.pdf.columns import columns
from kg_api.convert.pdf.document import metadata, opened, outline, title
from kg_api.convert.pdf.headings import headings
from kg_api.convert.pdf.images.places import PlacedPicture, images_of, with_pictures
from kg_api.convert.pdf.images.reading import PdfImages
from kg_api.convert.pdf.layout import Column, Line
from kg_api.convert.pdf.markdown import markdown
from kg_api.convert.pdf.pictures.places import place_words
from kg_api.convert.pdf.repeated import leave_out
from kg_api.models.library.conversion import Converted


class Pictures(Protocol):
    """Reads pages that are pictures."""

    def read(self, document: pdfium.PdfDocument, pages: list[PageText]) -> None:
        """Put what it reads into those of the pages that have no text."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Tell what became of them."""
        ...


def convert(
    data: bytes, settings: ConversionSettings = DEFAULTS, pictures: Pictures | None = None
) -> Converted:
    """Read a PDF's text in reading order, with its headings, lists, code and pictures.

    Args:
        data: the file.
        settings: bounds of its pictures.
        pictures: reads the pages that have no text; None: they are only counted.
    """
    with opened(data) as document:
        images = PdfImages(settings)
        pages = [_page(document, number, images) for number in range(len(document))]
        if pictures:
            pictures.read(document, pages)
        notes = (*(pictures.notes() if pictures else ()), *_notes(leave_out(pages)))
        made = _converted(document, pages, images.read(document))
        return replace(made, notes=(*notes, *images.notes()), pictures=without_text(pages))


def _converted(
    document: pdfium.PdfDocument, pages: list[PageText], images: Sequence[PlacedPicture]
) -> Converted:
    lines = [line for number, page in enumerate(pages) for line in _lines(page, number)]
    found = with_pictures(blocks(lines, headings(lines, outline(document))), images)
    text, offsets, begins = markdown(found, len(pages))
    words = place_words(text, found, begins)
    return Converted(
        text,
        title(document),
        metadata(document),
        offsets,
        words=words,
        images=images_of(text, found, begins),
    )


def _page(document: pdfium.PdfDocument, number: int, images: PdfImages) -> PageText:
    """Read a page; one that is broken has no text, as if it were a picture."""
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return PageText(0)
    try:
        text = read(page)
        images.look(page, number, text.turn)
    except pdfium.PdfiumError:
        return PageText(0)
    else:
        return text
    finally:
        page.close()


def _lines(page: PageText, number: int) -> list[Line]:
    """Give a page's lines in reading order, at the end what stands across them, each piece by itself."""
    found = [line for column in columns(page.pieces, number) for line in column.lines]
    aside = [Line([piece], number, Column(piece.left, piece.right)) for piece in page.across]
    return found + aside


def _notes(repeated: tuple[int, int]) -> tuple[str, ...]:
    lines, pages = repeated
    told = f"{lines} repeated headers, footers and page numbers on {pages} pages are left out"
    return (told,) if lines else ()
