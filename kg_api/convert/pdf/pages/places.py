"""Where the letters of a page stand on its picture, and the boxes that go around words."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.characters import is_ligature, open_text
from kg_api.convert.pdf.letters import BLANKS, letters
from kg_api.convert.pdf.objects import list_objects
from kg_api.convert.pdf.pages.streams import LetterStream
from kg_api.models.images import PageBox

MAX_LETTERS = 200_000
"""Of a page: a page of a newspaper has 30,000."""
_GAP, _OVERLAP = 1.0, 0.5
"""Of a box's height: how far apart words of one box are, and how much of it they share."""
_SCALE = 10_000


class Box(NamedTuple):
    """A part of a picture, in pixels from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class PageLetters:
    """The letters of a page as PDFium gives them."""

    page: pdfium.PdfPage
    text_page: pdfium.PdfTextPage
    size: tuple[int, int]
    """Of the picture, in pixels."""
    stream: LetterStream

    @classmethod
    def of(cls, page: pdfium.PdfPage, size: tuple[int, int]) -> PageLetters:
        text_page = open_text(page, list_objects(page).texts)
        count = min(raw.FPDFText_CountChars(text_page.raw), MAX_LETTERS)
        stream = LetterStream.of(_letter(text_page.raw, number) for number in range(count))
        return cls(page, text_page, size, stream)

    def boxes(self, words: Iterable[Sequence[int]]) -> list[Box]:
        """Boxes around words, each word by the places of its letters in the stream; one for each line."""
        numbers = (self.stream.origin[place] for word in words for place in word)
        return join_boxes(self._box(number) for number in dict.fromkeys(numbers))

    def _box(self, number: int) -> Box:
        found = raw.FS_RECTF()
        raw.FPDFText_GetLooseCharBox(self.text_page.raw, number, found)
        one, other = self._pixel(found.left, found.top), self._pixel(found.right, found.bottom)
        return Box(min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1]))

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        """A place of the page on its picture, whatever the page is turned by and cut to."""
        left, top, (width, height) = ctypes.c_int(), ctypes.c_int(), self.size
        document_page: Any = self.page.raw
        raw.FPDF_PageToDevice(document_page, 0, 0, width, height, 0, x, y, left, top)
        return left.value, top.value


def _letter(text_page: Any, number: int) -> str:
    code = raw.FPDFText_GetUnicode(text_page, number)
    return " " if code in BLANKS and not is_ligature(text_page, code, number) else letters(code)


def of_parts(boxes: Iterable[PageBox], size: tuple[int, int]) -> list[Box]:
    """Boxes that are told in ten thousandths of the page."""
    width, height = size[0] / _SCALE, size[1] / _SCALE
    return join_boxes(
        Box(each.left * width, each.top * height, each.right * width, each.bottom * height) for each in boxes
    )


def join_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Boxes that follow each other on one line as one."""
    return [*_joined(boxes)]


def _joined(boxes: Iterable[Box]) -> Iterator[Box]:
    last: Box | None = None
    for each in boxes:
        if last is not None and not _goes_on(last, each):
            yield last
            last = None
        last = each if last is None else _around(last, each)
    if last is not None:
        yield last


def _goes_on(last: Box, box: Box) -> bool:
    height = max(last.height, box.height)
    shared = min(last.bottom, box.bottom) - max(last.top, box.top)
    between = max(box.left - last.right, last.left - box.right)
    return shared > _OVERLAP * min(last.height, box.height) and between < _GAP * height


def _around(one: Box, other: Box) -> Box:
    left, top = min(one.left, other.left), min(one.top, other.top)
    return Box(left, top, max(one.right, other.right), max(one.bottom, other.bottom))
