"""Removal of metadata from images, except for a fixed list."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from kg_api.convert.image.file import ORIENTATION, count_frames, flat

_WORDS = frozenset({0x010E, 0x0132, 0x013B, 0x8298, 0x9C9B, 0x9C9C})
"""EXIF tags of description, modification date, author, copyright, and Windows title and comment."""
_EXIF_DIRECTORY, _DATES = 0x8769, frozenset({0x9003, 0x9004, 0xA001})
"""EXIF directory, and its tags of dates (without the time zone) and color space."""
_MAX_EXIF = 65_000  # bytes (limit of a JPEG segment)
_SAVED_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_PNG_WORDS = frozenset({"title", "author", "description", "copyright", "creation time"})
_PNG_LEVEL, _QUALITY = 3, 95


def stripped(data: bytes, picture: Image.Image) -> bytes:
    """Return an image with only pixels, color profile, orientation, and the listed metadata.

    The listed metadata consists of title, description, author, rights, and dates. A JPEG keeps its
    quantization tables, so its pixels hardly change. TIFF and BMP become PNG.
    """
    content = io.BytesIO()
    kept: dict[str, Any] = {"exif": _write_exif(picture), "icc_profile": picture.info.get("icc_profile")}
    kept |= {"dpi": picture.info["dpi"]} if "dpi" in picture.info else {}
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
            words = PngInfo()
            for key, said in picture.info.items():
                if picture.format == "PNG" and str(key).lower() in _PNG_WORDS:
                    words.add_text(str(key), str(said))
            several = picture.format == "PNG" and count_frames(picture) > 1
            picture.load()
            shown = picture if picture.mode in _SAVED_MODES else flat(picture, (1, 1))
            shown.save(
                content, "PNG", save_all=several, pnginfo=words, compress_level=_PNG_LEVEL, **kept
            )  # the default level 6 takes four times as long
    return content.getvalue()


def _write_exif(picture: Image.Image) -> bytes:
    """Return the kept entries, or only the orientation if the entries are damaged or too long."""
    said, made = picture.getexif(), Image.Exif()
    orientation = said.get(ORIENTATION, 1)
    if orientation in range(2, 9) and picture.format != "TIFF":  # Pillow rotates a TIFF while decoding
        made[ORIENTATION] = orientation
    turn = made.tobytes() if len(made) else b""
    try:
        for tag in _WORDS & said.keys():
            made[tag] = said[tag]
        dates = {tag: value for tag, value in said.get_ifd(_EXIF_DIRECTORY).items() if tag in _DATES}
        if dates:
            made.get_ifd(_EXIF_DIRECTORY).update(dates)
        content = made.tobytes() if len(made) or dates else b""
    except Exception:  # noqa: BLE001 - Pillow raises many kinds of errors for wrong types
        return turn
    return content if len(content) <= _MAX_EXIF else turn
