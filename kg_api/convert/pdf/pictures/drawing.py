"""A page as a picture, of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.ocr.records import OcrFailed, Picture

_DPI, _POINTS = 200, 72
MAX_PIXELS = 120_000_000
"""Of one picture within a page, A3 at 600 dpi and a bit: a larger one takes its memory at once."""
_MAX_OBJECTS = 20_000
_MAX_NESTED = 8


def draw(page: pdfium.PdfPage, most_pixels: float) -> Picture:
    """Draw a page in grey, at 200 dpi where that has no more pixels than it may.

    Raises:
        OcrFailed: there is something far too large on it.
        PdfiumError: it is broken.
    """
    _check(page)
    width, height = page.get_size()
    scale = min(_DPI / _POINTS, math.sqrt(most_pixels / max(1.0, width * height)))
    bitmap = cast("Any", page).render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        return np.array(bitmap.to_numpy(), dtype=np.uint8).reshape(bitmap.height, bitmap.width)
    finally:
        bitmap.close()


def _check(page: pdfium.PdfPage) -> None:
    objects = cast("Iterable[Any]", page.get_objects(max_depth=_MAX_NESTED))
    for count, item in enumerate(objects):
        if count > _MAX_OBJECTS:
            raise OcrFailed(f"it has more than {_MAX_OBJECTS} parts")
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            width, height = item.get_px_size()
            if width * height > MAX_PIXELS:
                raise OcrFailed(f"a picture on it has {width * height / 1e6:.0f} megapixels")
