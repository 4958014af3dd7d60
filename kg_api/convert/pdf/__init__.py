"""Conversion of PDF to Markdown: pages, positioned pieces of text, columns and lines, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pypdfium2 as pdfium

from kg_api.convert.pdf.annotations import Annotations
from kg_api.convert.pdf.blocks import blocks, headings, markdown, place_words
from kg_api.convert.pdf.characters import PageText, list_pages_without_text, put_shown
from kg_api.convert.pdf.document import metadata, opened, outline, title
from kg_api.convert.pdf.images import PdfImages, PlacedPicture, insert_images, locate_images
from kg_api.convert.pdf.layout import Column, Line, TextRun, columns, rows
from kg_api.convert.pdf.removal import forget_unknown, remove_headers, take_out_unreadable
from kg_api.convert.shared.accounting import note_missing
from kg_api.schemas.documents import Converted
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.wording import name_pages, pluralize

if TYPE_CHECKING:
    from kg_api.convert.pdf.scans import PictureReader


def convert(
    data: bytes, settings: ConversionSettings = DEFAULTS, pictures: PictureReader | None = None
) -> Converted:
    """Return the text of a PDF in reading order, with headings, lists, code, and images."""
    with opened(data) as document:
        images, annotations = PdfImages(settings), Annotations(document)
        pages = [_page(annotations, number, images) for number in range(len(document))]
        take_out_unreadable(pages)
        forget_unknown(pages)
        if pictures:
            pictures.read(document, pages)
        pictured = list_pages_without_text(pages)
        put_shown(pages)
        notes = (
            *(pictures.notes() if pictures else ()),
            *_note_unreadable(pages),
            *annotations.list_notes(),
            *_notes(remove_headers(pages)),
        )
        made = _assemble_document(document, pages, list(images.read(document)))
        known = "\n".join([made.text, *(text for page in pages for text in page.left_out)])
        missing = note_missing([page.plain for page in pages], known, "the pages")
        return replace(
            made,
            notes=(*notes, *images.notes(), *missing),
            pictures=pictured,
            unreadable=tuple(number for number, page in enumerate(pages, 1) if page.needs_ocr),
        )


def _assemble_document(
    document: pdfium.PdfDocument, pages: list[PageText], images: Sequence[PlacedPicture]
) -> Converted:
    lines = [line for number, page in enumerate(pages) for line in _lines(page, number)]
    found = insert_images(blocks(lines, headings(lines, outline(document))), images)
    text, offsets, begins = markdown(found, len(pages))
    words = place_words(text, found, begins)
    return Converted(
        text,
        title(document),
        metadata(document),
        offsets,
        words=words,
        images=locate_images(text, found, begins),
    )


def _page(annotations: Annotations, number: int, images: PdfImages) -> PageText:
    """Read a page. A broken page has no text, like a scanned page."""
    try:
        page, objects, text = annotations.read_page(number)
    except pdfium.PdfiumError:
        return PageText(0)
    try:
        images.look(page, number, objects.images, text.turn)
    except pdfium.PdfiumError:
        return PageText(0)
    else:
        return text
    finally:
        page.close()


def _lines(page: PageText, number: int) -> list[Line]:
    """Return lines in reading order, then pieces across them. Vertical text has horizontal lines first."""
    found = [line for column in columns(page.pieces, number) for line in column.lines]
    top = -min((piece.left for piece in page.pieces), default=0)
    above = [piece for piece in page.across if page.is_vertical and piece.baseline > top]
    ids = set(map(id, above))
    below = [piece for piece in page.across if id(piece) not in ids]
    return [*_aside(above, number), *found, *_aside(below, number)]


def _aside(pieces: Sequence[TextRun], number: int) -> list[Line]:
    return [Line([piece], number, Column(piece.left, piece.right)) for piece in pieces]


def _note_unreadable(pages: Sequence[PageText]) -> tuple[str, ...]:
    if not (numbers := [number for number, page in enumerate(pages, 1) if page.unreadable]):
        return ()
    lines = pluralize(sum(len(rows(page.unreadable)) for page in pages), "line")
    return (f"skipped: {lines} of {name_pages(numbers)}, because the font does not map to letters",)


def _notes(repeated: tuple[int, int]) -> tuple[str, ...]:
    lines, pages = repeated
    note = f"skipped: {lines} repeated headers, footers, and page numbers on {pages} pages"
    return (note,) if lines else ()
