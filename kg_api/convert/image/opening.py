"""Opening a picture that nobody vouches for: its kind by its content, its size before it is unpacked."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from PIL import Image, UnidentifiedImageError

from kg_api.errors import UnreadableDocument
from kg_api.models.images import ImageType
from kg_api.parse.images import is_image
from kg_api.parse.signatures import EXPORT, binary_kind, unread_picture

TYPES: dict[str, ImageType] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # several in one JPEG, as some cameras write them
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "BMP": "image/bmp",
}
MAX_FRAMES = 1000
_DAMAGE = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, OverflowError),
    *(struct.error, zlib.error, RuntimeError, AssertionError),
)
"""What Pillow raises for pictures that are damaged or meant to harm."""


@contextmanager
def opened(data: bytes, max_megapixels: float) -> Generator[Image.Image]:
    """Open a picture; of several frames the first one is shown.

    Raises:
        UnreadableDocument: it is none, it is too large, or it is damaged, also when that comes out later.
    """
    Image.MAX_IMAGE_PIXELS = None  # its own bound only warns
    try:
        with Image.open(io.BytesIO(data), formats=[*TYPES.keys() - {"MPO"}]) as picture:
            _check(picture, max_megapixels)
            yield picture
    except UnreadableDocument:
        raise
    except UnidentifiedImageError:
        raise UnreadableDocument(_no_picture(data)) from None
    except _DAMAGE as error:
        raise UnreadableDocument(
            f"it is a damaged picture ({error!s:.200}); open it in the program that made it and save it again"
        ) from error


def frames_of(picture: Image.Image) -> int:
    """How many frames or pages it has."""
    return int(cast("Any", picture).n_frames) if hasattr(picture, "n_frames") else 1


def _no_picture(data: bytes) -> str:
    """What it is instead, and what to do."""
    if not data:
        return "it is empty (0 bytes), as a copy that broke off leaves it: copy it again"
    if what := unread_picture(data):
        return f"it is {what}, a kind that is not read, whatever its name says: {EXPORT}"
    instead = binary_kind(data) or ("text" if _is_text(data) else "")
    if instead and not is_image(data):
        return (
            f"it is not a picture but {instead}, whatever its name says: give it the ending that belongs to "
            "it, or take the picture that was meant"
        )
    return (
        "it is not a picture of a kind that is read (PNG, JPEG, WebP, GIF, TIFF, BMP), whatever its name "
        f"says, or it is damaged from the beginning; {EXPORT}"
    )


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _check(picture: Image.Image, max_megapixels: float) -> None:
    pixels = picture.width * picture.height
    if pixels > max_megapixels * 1e6:
        raise UnreadableDocument(
            f"it is a picture of {picture.width:,} x {picture.height:,} pixels, and "
            f"{max_megapixels:g} million are read at most (KG_CONVERSION__IMAGE_MAX_MEGAPIXELS); "
            "make it smaller"
        )
    if (frames := frames_of(picture)) > MAX_FRAMES:
        raise UnreadableDocument(
            f"it is a picture of {frames:,} frames, and {MAX_FRAMES:,} are read at most; divide it"
        )
