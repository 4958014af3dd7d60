"""The file of a picture in a PDF: the JPEG that it holds, where that looks as shown; else it is drawn."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any, cast

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageStat
from pypdfium2 import PdfMatrix, raw

from kg_api.convert.image.opening import opened
from kg_api.convert.image.preview import shown
from kg_api.convert.pdf.images.found import filters_of, stored
from kg_api.convert.pdf.objects import DrawnObject
from kg_api.errors import UnreadableDocument

MAX_DRAWN = 25_000_000
"""Pixels: PDFium and what follows need ten bytes for each."""
_LOOK = 64 * 64
"""Pixels of what is compared."""
_ALIKE = 12
"""Of 255: mean difference of a JPEG that is shown as it is; the two are made small in two ways."""
_MAX_SIDE = 30_000
_QUALITY, _LEVEL = 90, 3
_WHITE = (255, 255, 255)
_LOSSY = frozenset({"DCTDecode", "JPXDecode"})
_TURNS = (PdfMatrix(), PdfMatrix(0, -1, 1, 0), PdfMatrix(-1, 0, 0, -1), PdfMatrix(0, 1, -1, 0))
"""With the clock, by so many quarters."""


def file_of(parts: Sequence[DrawnObject], page: pdfium.PdfPage, turn: int, max_megapixels: float) -> bytes:
    """Give a picture as a JPEG or a PNG; nothing if there is nothing to be seen on it.

    Args:
        parts: one, or the strips or tiles that make it.
        page: that they are on.
        turn: quarters against the clock in which the page's lines are written.
        max_megapixels: of a JPEG.

    Raises:
        PdfiumError: it is broken.
    """
    picture = _Drawing(page, [DrawnObject(each.handle, each.matrix.multiply(_TURNS[turn])) for each in parts])
    look = picture.draw(_LOOK)
    if all(low == high for low, high in cast("Any", look).getextrema()):
        return b""
    filters = filters_of(parts[0].handle)
    if len(parts) == 1 and filters[-1:] == ["DCTDecode"]:
        jpeg = stored(parts[0].handle, decoded=True)
        if _looks_like(jpeg, look, max_megapixels):
            return jpeg
    return _encoded(picture.draw(MAX_DRAWN), lossy=not _LOSSY.isdisjoint(filters))


class _Drawing:
    """Parts of a page beside each other, with their masks and in their colours."""

    def __init__(self, page: pdfium.PdfPage, parts: Sequence[DrawnObject]) -> None:
        self._page, self._parts = page, parts
        boxes = [each.box for each in parts]
        self._left, self._top = min(each[0] for each in boxes), max(each[3] for each in boxes)
        self._width = max(1e-3, max(each[2] for each in boxes) - self._left)
        self._height = max(1e-3, self._top - min(each[1] for each in boxes))

    def draw(self, most: float) -> Image.Image:
        """As large as it is stored, or of so many pixels at most; what can be seen through is white."""
        scale = min(
            max(map(_scale, self._parts)),
            math.sqrt(most / (self._width * self._height)),
            _MAX_SIDE / max(self._width, self._height),
        )
        size = (max(1, round(scale * self._width)), max(1, round(scale * self._height)))
        ground = Image.new("RGB", size, _WHITE)
        for each in self._parts:
            left, _, _, top = each.box
            drawn = _render(each.handle, self._page, each.matrix.scale(scale, scale))
            at = (round(scale * (left - self._left)), round(scale * (self._top - top)))
            ground.paste(drawn, at, drawn.getchannel("A") if drawn.mode == "RGBA" else None)
        return ground


def _scale(part: DrawnObject) -> float:
    """Pixels of a point, along the side where it has more."""
    across, down = math.hypot(part.matrix.a, part.matrix.b), math.hypot(part.matrix.c, part.matrix.d)
    return max(part.pixels[0] / max(across, 1e-3), part.pixels[1] / max(down, 1e-3))


def _render(handle: object, page: pdfium.PdfPage, matrix: PdfMatrix) -> Image.Image:
    raw.FPDFPageObj_SetMatrix(handle, matrix.to_raw())
    found = raw.FPDFImageObj_GetRenderedBitmap(page.pdf.raw, page.raw, handle)
    if not found:
        raise pdfium.PdfiumError("a picture cannot be drawn")
    return pdfium.PdfBitmap.from_raw(found).to_pil().copy()  # whose memory goes with the last reference


def _looks_like(jpeg: bytes, look: Image.Image, max_megapixels: float) -> bool:
    """Not if it is turned, masked, inverted, or in colours that others read in another way."""
    try:
        with opened(jpeg, max_megapixels) as picture:
            if picture.mode not in {"RGB", "L"}:
                return False
            own = shown(picture, 4 * _LOOK).resize(look.size)
    except UnreadableDocument:
        return False
    return max(ImageStat.Stat(ImageChops.difference(own, look)).mean) < _ALIKE


def _encoded(drawn: Image.Image, *, lossy: bool) -> bytes:
    made = io.BytesIO()
    red, green, blue = drawn.split()
    plain = red if red.tobytes() == green.tobytes() == blue.tobytes() else drawn
    if lossy:
        plain.save(made, "JPEG", quality=_QUALITY)
    else:
        plain.save(made, "PNG", compress_level=_LEVEL)
    return made.getvalue()
