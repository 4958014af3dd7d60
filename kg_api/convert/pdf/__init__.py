"""Conversion of PDF to Markdown: pages, positioned pieces of text, columns and lines, blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pypdfium2 as pdfium

from kg_api.convert.pdf.annotations import Annotations
from kg_api.convert.pdf.blocks import find_headings, group_into_blocks, place_words, write_markdown
from kg_api.convert.pdf.characters import PageText, list_pages_without_text, put_shown
from kg_api.convert.pdf.document import open_document, read_metadata, read_outline, read_title
from kg_api.convert.pdf.grids import join_cells
from kg_api.convert.pdf.images import PdfImages, PlacedPicture, insert_images, locate_images
from kg_api.convert.pdf.layout import (
    Column,
    Line,
    TextRun,
    find_columns,
    group_into_rows,
    join_initials,
    mirror,
)
from kg_api.convert.pdf.letters import mirror_box
from kg_api.convert.pdf.removal import remove_control_codes, remove_headers, remove_unreadable
from kg_api.convert.shared.accounting import describe_missing
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
    with open_document(data) as document:
        images, annotations = PdfImages(settings), Annotations(document)
        pages = [_read_page(annotations, number, images) for number in range(len(document))]
        remove_unreadable(pages)
        removed = remove_control_codes(pages)
        if pictures:
            pictures.read(document, pages)
        pictured = list_pages_without_text(pages)
        put_shown(pages)
        notes = (
            *(pictures.notes() if pictures else ()),
            *_describe_unreadable(pages),
            *_describe_control_codes(removed),
            *annotations.list_notes(),
            *_describe_removed_rows(remove_headers(pages)),
        )
        made = _assemble_document(document, pages, list(images.read(document)))
        known = "\n".join([made.text, *(text for page in pages for text in page.left_out)])
        missing = describe_missing([page.plain for page in pages], known, "the pages")
        return replace(
            made,
            notes=(*notes, *images.notes(), *missing),
            pictures=pictured,
            unreadable=tuple(number for number, page in enumerate(pages, 1) if page.needs_ocr),
        )


def _assemble_document(
    document: pdfium.PdfDocument, pages: list[PageText], images: Sequence[PlacedPicture]
) -> Converted:
    lines = [line for number, page in enumerate(pages) for line in _read_lines(page, number)]
    blocks = group_into_blocks(lines, find_headings(lines, read_outline(document)))
    mirrored = (
        replace(each, box=mirror_box(each.box)) if pages[each.page].is_from_right else each for each in images
    )
    found = insert_images(blocks, [*mirrored])
    text, offsets, begins = write_markdown(found, len(pages))
    words = place_words(text, found, begins)
    return Converted(
        text,
        read_title(document),
        read_metadata(document),
        offsets,
        words=words,
        images=locate_images(text, found, begins),
    )


def _read_page(annotations: Annotations, number: int, images: PdfImages) -> PageText:
    """Read a page. A broken page has no text, like a scanned page."""
    try:
        page, objects, text = annotations.read_page(number)
    except pdfium.PdfiumError:
        return PageText(0)
    try:
        images.collect(page, number, objects.images, text.turn)
    except pdfium.PdfiumError:
        return PageText(0)
    else:
        return text
    finally:
        page.close()


def _read_lines(page: PageText, number: int) -> list[Line]:
    """Return lines in reading order, then pieces across them. Vertical text has horizontal lines first."""
    pieces, grids = page.pieces, page.grids
    if page.is_from_right:
        pieces, grids = mirror(pieces), [[mirror_box(cell) for cell in grid] for grid in grids]
    found = [
        line
        for column in find_columns(join_cells(join_initials(pieces), grids), number)
        for line in column.lines
    ]
    top = -min((piece.left for piece in page.pieces), default=0)
    above = [piece for piece in page.across if page.is_vertical and piece.baseline > top]
    ids = set(map(id, above))
    below = [piece for piece in page.across if id(piece) not in ids]
    return [*_read_rotated_lines(above, number), *found, *_read_rotated_lines(below, number)]


def _read_rotated_lines(pieces: Sequence[TextRun], number: int) -> list[Line]:
    return [Line([piece], number, Column(piece.left, piece.right)) for piece in pieces]


def _describe_unreadable(pages: Sequence[PageText]) -> tuple[str, ...]:
    if not (numbers := [number for number, page in enumerate(pages, 1) if page.unreadable]):
        return ()
    lines = pluralize(sum(len(group_into_rows(page.unreadable)) for page in pages), "line")
    return (f"skipped: {lines} of {name_pages(numbers)}, because the font does not map to letters",)


def _describe_control_codes(removed: Mapping[int, int]) -> tuple[str, ...]:
    if not removed:
        return ()
    signs = pluralize(sum(removed.values()), "sign")
    return (f"skipped: {signs} of {name_pages([*removed])}, because the font does not map to letters",)


def _describe_removed_rows(repeated: tuple[int, int]) -> tuple[str, ...]:
    lines, pages = repeated
    note = f"skipped: {lines} repeated headers, footers, and page numbers on {pages} pages"
    return (note,) if lines else ()
