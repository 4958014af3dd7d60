"""PNG files chunk by chunk: pixels, colours, frames, a few words, and EXIF made anew."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from PIL import Image

from kg_api.convert.image.strip.exif import exif_of

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SHOWN = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"sBIT", b"bKGD", b"pHYs", b"hIST", b"sPLT"),
        *(b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"mDCV", b"cLLI", b"mDCv", b"cLLi"),
        *(b"acTL", b"fcTL", b"fdAT"),
    }
)
"""Pixels, colours, and the frames of an animation."""
_TEXT = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_WORDS = frozenset({b"title", b"author", b"description", b"copyright", b"creation time"})


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file up to its end, with pixels, colours and words alone."""
    made, exif = [_SIGNATURE], exif_of(picture)
    for kind, content, chunk in _chunks(data):
        if kind == b"IDAT" and exif:
            made.append(_chunk(b"eXIf", exif))
            exif = b""
        if kind in _SHOWN or (kind in _TEXT and content.partition(b"\0")[0].lower() in _WORDS):
            made.append(chunk)
        if kind == b"IEND":
            break
    return b"".join(made)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Kind, content, and all of it."""
    at = len(_SIGNATURE)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + size], data[at : at + 12 + size]
        at += 12 + size


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
