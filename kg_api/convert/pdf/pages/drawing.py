"""A page as a picture in colours, with words marked, as a converting process draws it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageDraw
from pypdfium2 import raw

from kg_api.convert.pdf.document import opened
from kg_api.convert.pdf.pages.matching import find_passage, find_words
from kg_api.convert.pdf.pages.places import Box, PageLetters, of_parts
from kg_api.convert.pdf.pages.streams import LetterStream
from kg_api.convert.pdf.pictures.drawing import MAX_PIXELS
from kg_api.errors import UnreadableDocument
from kg_api.models.images import DrawnPage, PageToDraw

MAX_PAGE_PIXELS = 8_000_000
MAX_PNG = 11 * 1024 * 1024
"""What an answer of a converting process has room for, as base64."""
_MAX_OBJECTS = 20_000
_PASSAGE, _PASSAGE_EDGE = (255, 243, 170), (222, 165, 32)
_WORD, _WORD_EDGE = (255, 205, 150), (214, 90, 20)


def draw_page(wanted: PageToDraw, data: bytes) -> DrawnPage:
    """Draw one page of a PDF.

    Raises:
        UnreadableDocument: it is broken, or there is something far too large on it.
    """
    with opened(data) as document:
        count = len(document)
        if not 1 <= wanted.page <= count:
            return DrawnPage(count, b"", 0)
        document.init_forms()  # what is filled in is to be seen
        try:
            page = document[wanted.page - 1]
            _check(page)
            picture, boxed = _drawn(page, wanted)
        except (pdfium.PdfiumError, ValueError):
            raise UnreadableDocument(f"page {wanted.page} cannot be drawn: it is broken") from None
        return DrawnPage(count, _to_png(picture), boxed)


def _check(page: pdfium.PdfPage) -> None:
    """A picture is unpacked whole before it is drawn; all else meets the limits of the process."""
    objects = cast("Iterable[Any]", page.get_objects(max_depth=8))
    for item in islice(objects, _MAX_OBJECTS):
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            width, height = item.get_px_size()
            if width * height > MAX_PIXELS:
                told = f"a picture on it has {width * height / 1e6:.0f} megapixels"
                raise UnreadableDocument(f"the page is not drawn: {told}")


def _drawn(page: pdfium.PdfPage, wanted: PageToDraw) -> tuple[Image.Image, int]:
    width, height = page.get_size()
    scale = min(wanted.width / width, math.sqrt(MAX_PAGE_PIXELS / (width * height)))
    bitmap = cast("Any", page).render(scale=scale, rev_byteorder=True)
    try:
        picture: Image.Image = bitmap.to_pil().convert("RGB")
    finally:
        bitmap.close()
    return picture, _mark(page, picture, wanted)


def _mark(page: pdfium.PdfPage, picture: Image.Image, wanted: PageToDraw) -> int:
    """Mark what is wanted; how many words that were."""
    passage, words = list[Sequence[int]](), list[Sequence[int]]()
    if wanted.passage or wanted.words:
        on_page = PageLetters.of(page, picture.size)
        passage = find_passage(LetterStream.of(wanted.passage), on_page.stream)
        words = find_words(wanted.words, on_page.stream)
        _fill(picture, on_page.boxes(passage), _PASSAGE, _PASSAGE_EDGE)
        _fill(picture, on_page.boxes(words), _WORD, _WORD_EDGE)
    _fill(picture, of_parts(wanted.passage_boxes, picture.size), _PASSAGE, _PASSAGE_EDGE)
    _fill(picture, of_parts(wanted.word_boxes, picture.size), _WORD, _WORD_EDGE)
    return sum(map(len, (passage, words, wanted.passage_boxes, wanted.word_boxes)))


def _fill(
    picture: Image.Image, boxes: Sequence[Box], colour: tuple[int, int, int], edge: tuple[int, int, int]
) -> None:
    """Colour what is light within boxes, as a marker pen does, and draw a line around them."""
    pen, line = ImageDraw.Draw(picture), max(1, round(picture.width / 800))
    for each in boxes:
        left, top = max(0, math.floor(each.left) - line), max(0, math.floor(each.top))
        right = min(picture.width - 1, math.ceil(each.right) + line)
        bottom = min(picture.height - 1, math.ceil(each.bottom))
        if left < right and top < bottom:
            part = picture.crop((left, top, right + 1, bottom + 1))
            picture.paste(ImageChops.multiply(part, Image.new("RGB", part.size, colour)), (left, top))
            pen.rectangle((left, top, right, bottom), outline=edge, width=line)


def _to_png(picture: Image.Image) -> bytes:
    """Without colours where it has none: a third of the size.

    Raises:
        UnreadableDocument: it is far larger than pages are.
    """
    grey = picture.convert("L")
    plain = not ImageChops.difference(grey.convert("RGB"), picture).getbbox()
    content = io.BytesIO()
    (grey if plain else picture).save(content, "PNG")
    if content.tell() > MAX_PNG:
        raise UnreadableDocument("the picture of the page is too large: ask for a smaller width")
    return content.getvalue()
