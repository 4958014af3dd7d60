"""WebP files chunk by chunk: pixels, frames, the colour profile, and EXIF made anew."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from PIL import Image

from kg_api.convert.image.strip.exif import exif_of

_HEAD, _FRAME_HEAD = 12, 16
_SHOWN = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_WITHIN_FRAMES = frozenset({b"VP8 ", b"VP8L", b"ALPH"})
_EXIF_FLAG, _XMP_FLAG = 0x08, 0x04


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file up to its end, with pixels and colours alone."""
    exif = exif_of(picture)
    (size,) = struct.unpack_from("<I", data, 4)
    made = [b"WEBP"]
    for kind, content in _chunks(data, _HEAD, min(len(data), size + 8)):
        if kind in _SHOWN:
            made.append(_chunk(kind, _kept(kind, content, exif=bool(exif))))
    if exif:
        made.append(_chunk(b"EXIF", exif))
    whole = b"".join(made)
    return b"RIFF" + struct.pack("<I", len(whole)) + whole


def _kept(kind: bytes, content: bytes, *, exif: bool) -> bytes:
    if kind == b"VP8X" and content:
        flags = content[0] & ~(_EXIF_FLAG | _XMP_FLAG)
        return bytes((flags | _EXIF_FLAG if exif else flags,)) + content[1:]
    if kind == b"ANMF":
        within = _chunks(content, _FRAME_HEAD, len(content))
        return content[:_FRAME_HEAD] + b"".join(_chunk(*each) for each in within if each[0] in _WITHIN_FRAMES)
    return content


def _chunks(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while at + 8 <= end:
        kind, size = struct.unpack_from("<4sI", data, at)
        yield kind, data[at + 8 : min(at + 8 + size, end)]
        at += 8 + size + size % 2


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
