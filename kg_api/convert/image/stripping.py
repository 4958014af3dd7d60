"""Removal of metadata from images."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

from kg_api.convert.image.file import ORIENTATION, count_frames, flatten

_SAVED_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_PNG_LEVEL, _QUALITY = 3, 95


def strip_metadata(data: bytes, picture: Image.Image) -> bytes:
    """Return an image with only pixels, resolution, color profile, and orientation.

    A JPEG keeps its quantization tables, so its pixels hardly change. TIFF and BMP become PNG.
    """
    content, exif = io.BytesIO(), Image.Exif()
    orientation = picture.getexif().get(ORIENTATION, 1)
    if orientation in range(2, 9) and picture.format != "TIFF":  # Pillow rotates a TIFF while decoding
        exif[ORIENTATION] = orientation
    kept: dict[str, Any] = {"exif": exif.tobytes() if len(exif) else b""}
    kept |= {key: picture.info.get(key) for key in ("icc_profile", "dpi") if key in picture.info}
    match picture.format:
        case "JPEG" | "MPO":
            kept["quality"] = "keep" if picture.format == "JPEG" else _QUALITY
            picture.save(content, "JPEG", progressive="progressive" in picture.info, comment=b"", **kept)
        case "WEBP":
            lossless = b"VP8L" in data[:4096]
            picture.save(
                content, "WEBP", save_all=True, lossless=lossless, quality=_QUALITY, exact=True, **kept
            )
        case "GIF":
            picture.save(content, "GIF", save_all=True, comment=b"")
        case _:
            several = picture.format == "PNG" and count_frames(picture) > 1
            picture.load()
            saved = picture if picture.mode in _SAVED_MODES else flatten(picture, (1, 1))
            saved.save(
                content, "PNG", save_all=several, compress_level=_PNG_LEVEL, **kept
            )  # the default level 6 takes four times as long
    return content.getvalue()
