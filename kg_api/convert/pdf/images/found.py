"""The pictures that a page's content draws, also within forms, with their places. y grows upwards."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
from pypdfium2 import PdfMatrix, raw

MAX_OBJECTS = 50_000
"""Parts of a page that are looked at; drawings of maps have more."""
MAX_FOUND = 1000
"""Pictures of a page."""
_MAX_NESTED = 8
Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""


@dataclass(frozen=True, slots=True)
class FoundPicture:
    """A picture as a page shows it."""

    page: int
    """From 0."""
    parts: tuple[int, ...]
    """Which ones of the page's pictures it is: several are the strips or tiles of one."""
    box: Box
    pixels: tuple[int, int]
    key: bytes
    """The same picture has the same one."""

    @property
    def width(self) -> float:
        """In points."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """In points."""
        return self.box[3] - self.box[1]


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """A picture of PDFium's, with all that turns and moves it on its page."""

    handle: Any
    matrix: PdfMatrix

    @property
    def box(self) -> Box:
        """Where it is, as far as its matrix moves it."""
        return cast("Box", self.matrix.on_rect(0, 0, 1, 1))

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height as the file tells them; none: 0."""
        width, height = ctypes.c_uint(), ctypes.c_uint()
        told = raw.FPDFImageObj_GetImagePixelSize(self.handle, width, height)
        return (width.value, height.value) if told else (0, 0)


def draws(page: pdfium.PdfPage) -> Iterator[DrawnObject]:
    """Go through a page's pictures; the order is the same each time."""
    items = _within(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, PdfMatrix(), 0)
    for kind, item, matrix in islice(items, MAX_OBJECTS):
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            yield DrawnObject(item, matrix)


def _within(
    parent: Any, count: Any, get: Any, outer: PdfMatrix, depth: int
) -> Iterator[tuple[int, Any, PdfMatrix]]:
    """PDFium is asked at once: a page may have thousands of letters and lines between two pictures."""
    for i in range(max(0, count(parent))):
        item = get(parent, i)
        kind = raw.FPDFPageObj_GetType(item) if item else raw.FPDF_PAGEOBJ_UNKNOWN
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_NESTED:
            inner = _matrix(item).multiply(outer)
            yield from _within(
                item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inner, depth + 1
            )
        matrix = _matrix(item).multiply(outer) if kind == raw.FPDF_PAGEOBJ_IMAGE else outer
        yield kind, item, matrix


def _matrix(item: Any) -> PdfMatrix:
    found = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, found)
    return PdfMatrix.from_raw(found)


def find(page: pdfium.PdfPage, number: int) -> list[FoundPicture]:
    """Give a page's pictures, as far as they can be seen on it."""
    shown = cast("Box", page.get_cropbox())
    found: list[FoundPicture] = []
    for part, item in enumerate(islice(draws(page), MAX_FOUND)):
        box = _cut(item.box, shown)
        if box and all(pixels := item.pixels):
            found.append(FoundPicture(number, (part,), box, pixels, _key(item.handle)))
    return found


def _cut(box: Box, shown: Box) -> Box | None:
    left, bottom = max(box[0], shown[0]), max(box[1], shown[1])
    right, top = min(box[2], shown[2]), min(box[3], shown[3])
    return (left, bottom, right, top) if left < right and bottom < top else None


def stored(handle: Any, *, decoded: bool = False) -> bytes:
    """The bytes of a picture as the file has them, or without filters that only make it smaller."""
    read = raw.FPDFImageObj_GetImageDataDecoded if decoded else raw.FPDFImageObj_GetImageDataRaw
    length = read(handle, None, 0)
    content = (ctypes.c_ubyte * length)()
    read(handle, content, length)
    return bytes(content)


def _key(handle: Any) -> bytes:
    return hashlib.sha256(stored(handle)).digest()


def filters_of(handle: Any) -> list[str]:
    """By what a picture is packed, the last one to be undone at the end."""
    name = ctypes.create_string_buffer(100)
    found: list[str] = []
    for i in range(raw.FPDFImageObj_GetImageFilterCount(handle)):
        raw.FPDFImageObj_GetImageFilter(handle, i, name, len(name))
        found.append(name.value.decode("latin-1"))
    return found
