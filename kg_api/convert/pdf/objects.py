"""The objects of a page's content, also within forms."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
from pypdfium2 import PdfMatrix, raw

MAX_OBJECTS = 50_000
"""Objects of a page to look at. Drawings of maps have more."""
_MAX_NESTED = 8
Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """An image of PDFium's, with all that turns and moves it on its page."""

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


@dataclass(slots=True)
class PageObjects:
    """The texts and images of a page, always in the same order."""

    texts: list[Any] = field(default_factory=list[Any])
    images: list[DrawnObject] = field(default_factory=list[DrawnObject])
    is_blank: bool = False


def list_objects(page: pdfium.PdfPage) -> PageObjects:
    """Return the texts and images of a page."""
    found = PageObjects(is_blank=not raw.FPDFPage_CountObjects(page.raw))
    items = _walk(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, PdfMatrix(), 0)
    for kind, item, matrix in islice(items, MAX_OBJECTS):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            found.texts.append(item)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            found.images.append(DrawnObject(item, matrix))
    return found


def list_form_texts(form: Any) -> list[Any]:
    """Return the text objects within a form object."""
    items = _walk(form, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, PdfMatrix(), 1)
    return [item for kind, item, _ in islice(items, MAX_OBJECTS) if kind == raw.FPDF_PAGEOBJ_TEXT]


def _walk(
    parent: Any,
    count: Callable[[Any], int],
    get: Callable[[Any, int], Any],
    outer: PdfMatrix,
    depth: int,
) -> Iterator[tuple[int, Any, PdfMatrix]]:
    """PDFium is asked at once: a page may have thousands of letters and lines between two images."""
    for i in range(max(0, count(parent))):
        item = get(parent, i)
        kind = raw.FPDFPageObj_GetType(item) if item else raw.FPDF_PAGEOBJ_UNKNOWN
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_NESTED:
            inner = _read_matrix(item).multiply(outer)
            yield from _walk(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inner, depth + 1)
        matrix = _read_matrix(item).multiply(outer) if kind == raw.FPDF_PAGEOBJ_IMAGE else outer
        yield kind, item, matrix


def _read_matrix(item: Any) -> PdfMatrix:
    found = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, found)
    return PdfMatrix.from_raw(found)


def turn_box(box: Box, turn: int) -> Box:
    """Return a place as lines have theirs that are written with that many quarter turns."""
    left, bottom, right, top = box
    return (box, (bottom, -right, top, -left), (-right, -top, -left, -bottom), (-top, left, -bottom, right))[
        turn
    ]
