"""The pictures that a page's content draws, also within forms, with their places. y grows upwards."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.objects import Box, DrawnObject

MAX_FOUND = 1000
"""Pictures of a page."""


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


def find(page: pdfium.PdfPage, number: int, images: Sequence[DrawnObject]) -> list[FoundPicture]:
    """Give a page's pictures, as far as they can be seen on it."""
    shown = cast("Box", page.get_cropbox())
    found: list[FoundPicture] = []
    for part, item in enumerate(islice(images, MAX_FOUND)):
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
