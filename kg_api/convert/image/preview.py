"""A picture made small: to be shown, and to be compared."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from PIL import Image

THUMBNAIL_PIXELS = 256
_ENOUGH = 4 * THUMBNAIL_PIXELS
ORIENTATION = 0x0112
"""In EXIF: how a photograph is to be turned."""
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
ON_THEIR_SIDE = frozenset(_TURNS[each] for each in range(5, 9))
"""Turns by which width and height change places."""
_QUALITY = 80
_WHITE = (255, 255, 255)
_SIXTEEN_TO_EIGHT = 257
_BITS = (9, 8)
"""Pixels that the 64 bits of a difference hash are made of."""


def small(picture: Image.Image) -> Image.Image:
    """A picture as it is shown, not much larger than a thumbnail."""
    return shown(picture, _ENOUGH**2)


def shown(picture: Image.Image, max_pixels: float) -> Image.Image:
    """A picture as it is shown: upright, in RGB, with no more pixels than that; the whole is not kept."""
    turn = turn_of(picture)
    factor = max(1, int(math.sqrt(picture.width * picture.height / max_pixels)))
    if factor > 1:
        picture.draft("RGB", (picture.width // factor, picture.height // factor))  # JPEG is unpacked smaller
    picture.load()
    factor = max(1, int(math.sqrt(picture.width * picture.height / max_pixels)))
    made = flat(picture, (factor, factor))
    if (shrink := math.sqrt(max_pixels / (made.width * made.height))) < 1:
        made.thumbnail((max(1, int(made.width * shrink)), max(1, int(made.height * shrink))))
    return made.transpose(turn) if turn is not None else made


def turn_of(picture: Image.Image) -> Image.Transpose | None:
    """How a photograph is to be turned to stand upright; a TIFF is turned by Pillow when it is unpacked."""
    if picture.format == "TIFF":
        return None
    return _TURNS.get(picture.getexif().get(ORIENTATION, 1))


def flat(picture: Image.Image, factor: tuple[int, int]) -> Image.Image:
    """In RGB, so many times smaller by means of whole pixels; what can be seen through lies on white."""
    plain = _plain(picture)
    return _opaque(plain.reduce(factor) if max(factor) > 1 else plain)


def thumbnail(picture: Image.Image) -> bytes:
    """As WebP, of at most 256 pixels a side, and with nothing else in it."""
    made = picture.copy()
    made.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    content = io.BytesIO()
    Image.fromarray(np.asarray(made)).save(content, "WEBP", quality=_QUALITY)
    return content.getvalue()


def difference_hash(picture: Image.Image) -> str:
    """Which of neighbouring pixels is brighter, in 9 x 8 of them: a crop or another size changes few bits.

    dHash by Neal Krawetz, "Kind of Like That" (The Hacker Factor Blog, 2013).
    """
    grey = np.asarray(picture.convert("L").resize(_BITS, Image.Resampling.LANCZOS), dtype=np.int16)
    return np.packbits(grey[:, 1:] > grey[:, :-1]).tobytes().hex()


def _plain(picture: Image.Image) -> Image.Image:
    """With pixels that a mean can be taken of."""
    if picture.mode in {"P", "PA"}:
        return picture.convert("RGBA")
    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) // _SIXTEEN_TO_EIGHT).astype(np.uint8))
    return picture.convert("L") if picture.mode == "1" else picture


def _opaque(picture: Image.Image) -> Image.Image:
    """In RGB; what can be seen through lies on white."""
    if picture.mode.startswith(("I", "F")):
        return _eight_bits(picture)
    if picture.mode in {"RGBA", "LA", "La", "RGBa", "PA"} or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        ground = Image.new("RGB", seen.size, _WHITE)
        ground.paste(seen, mask=seen.getchannel("A"))
        return ground
    return picture.convert("RGB")


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Greys of 32 bits, from the darkest to the brightest."""
    values: Any = np.nan_to_num(np.asarray(picture, dtype=np.float32))
    darkest, brightest = float(values.min()), float(values.max())
    scaled = (values - darkest) * (255.0 / max(brightest - darkest, 1e-9))
    return Image.fromarray(scaled.astype(np.uint8)).convert("RGB")
