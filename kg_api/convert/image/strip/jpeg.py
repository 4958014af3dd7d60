"""JPEG files segment by segment: tables, the picture, its colours, and EXIF made anew."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image

from kg_api.convert.image.strip.exif import exif_of

_START, _END, _SCAN = 0xD8, 0xD9, 0xDA
_TABLES = frozenset({*range(0xC0, 0xD0), *range(0xD9, 0xE0)})
"""Frames, tables, scans and the end: nothing else is needed for pixels."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_JFIF, _APP1, _APP2, _ADOBE = 0xE0, 0xE1, 0xE2, 0xEE
_JFIF_LENGTH, _ADOBE_LENGTH = 14, 12
"""Without the thumbnail that may follow, and without what nobody wrote down."""
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""Ends the bits of a scan: neither a stuffed byte nor a restart."""
_EXIF = b"Exif\0\0"


class _Segment(NamedTuple):
    marker: int
    content: bytes
    """Behind its length."""
    scan: bytes = b""
    """The bits behind it."""


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file up to the end of the picture: a second one, and what else is behind it, goes as well."""
    return segments_kept(data, exif_of(picture))


def segments_kept(data: bytes, exif: bytes = b"") -> bytes:
    """The segments that are needed, with EXIF behind JFIF."""
    made, begun = [b"\xff\xd8"], False
    for segment in _segments(data):
        kept = _kept(segment)
        if exif and not begun and kept and segment.marker != _JFIF:
            made.append(_written(_Segment(_APP1, _EXIF + exif)))
            begun = True
        if kept:
            made.append(_written(kept))
    return b"".join(made)


def _segments(data: bytes) -> Iterator[_Segment]:
    at = 2
    while (at := data.find(b"\xff", at)) >= 0:
        while data[at + 1 : at + 2] == b"\xff":
            at += 1
        if at + 1 >= len(data):
            return
        marker = data[at + 1]
        at += 2
        if marker == _END:
            yield _Segment(marker, b"")
            return
        if marker and marker not in _ALONE and marker != _START:
            segment = _long(data, at, marker)
            at += 2 + len(segment.content) + len(segment.scan)
            yield segment


def _long(data: bytes, at: int, marker: int) -> _Segment:
    (length,) = struct.unpack_from(">H", data, at)
    behind = at + max(length, 2)
    if marker != _SCAN:
        return _Segment(marker, data[at + 2 : behind])
    found = _MARKER.search(data, behind)
    return _Segment(marker, data[at + 2 : behind], data[behind : found.start() if found else len(data)])


def _kept(segment: _Segment) -> _Segment | None:
    marker, content = segment.marker, segment.content
    if marker in _TABLES or (marker == _APP2 and content.startswith(b"ICC_PROFILE\0")):
        return segment
    if marker == _JFIF and content.startswith(b"JFIF\0") and len(content) >= _JFIF_LENGTH:
        return _Segment(marker, content[: _JFIF_LENGTH - 2] + b"\0\0")
    if marker == _ADOBE and content.startswith(b"Adobe"):
        return _Segment(marker, content[:_ADOBE_LENGTH])
    return None


def _written(segment: _Segment) -> bytes:
    head = bytes((0xFF, segment.marker))
    if segment.marker == _END:
        return head
    return b"".join((head, struct.pack(">H", len(segment.content) + 2), segment.content, segment.scan))
