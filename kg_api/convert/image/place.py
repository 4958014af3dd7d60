"""Removing the place where a photograph was taken from its file; its pixels stay as they are, to the byte.

EXIF is a little TIFF file within the picture: the entries of its GPS directory, and what they point to,
become zeros, and the directory has no entries any more. Lengths and offsets stay. XMP is text: values become
blanks.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

_PNG = b"\x89PNG\r\n\x1a\n"
_TIFF = (b"II*\0", b"MM\0*")
_EXIF = re.compile(rb"Exif\0\0(?=II\*\0|MM\0\*)")
_GPS_DIRECTORY = 0x8825
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
"""Bytes of one value, by the type of an entry."""
_INLINE = 4
_MAX_DIRECTORIES = 100
_XMP = (
    re.compile(rb"""((?:exif:GPS|Iptc4xmpCore:Location|photoshop:City)\w*\s*=\s*)(["'])([^"'<]*)(?=\2)"""),
    re.compile(rb"(<(?:exif:GPS|Iptc4xmpCore:Location|photoshop:City)\w*)((?:\s[^>]*)?>)([^<]*)(?=</)"),
)
_TELLING = (b"exif:GPS", b"Iptc4xmpCore:Location", b"photoshop:City")
_PNG_TEXT = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_PNG_PROFILE, _PNG_XMP = b"Raw profile type", b"XML:com.adobe.xmp\0"


def without_place(data: bytes) -> bytes:
    """The same picture, without it in EXIF and XMP."""
    if data.startswith(_PNG):
        return _png_without_place(data)
    made = bytearray(data)
    for at in _exif_places(data):
        _blank_gps(made, at)
    return _blank_xmp(bytes(made))


def _exif_places(data: bytes) -> Iterator[int]:
    """Where TIFF headers are: of a TIFF file, of a JPEG with all that are in it, of a WebP."""
    if data.startswith(_TIFF):
        yield 0
    yield from (found.end() for found in _EXIF.finditer(data))
    if data[:4] == b"RIFF":
        yield from (
            at + 8
            for at, kind, _ in _riff_chunks(data)
            if kind == b"EXIF" and data[at + 8 : at + 12] in _TIFF
        )


def _riff_chunks(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    at = 12
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        yield at, kind, size
        at += 8 + size + size % 2


def _png_without_place(data: bytes) -> bytes:
    """Chunk by chunk: EXIF is one, with a checksum; of text is left out whole what tells a place, or may."""
    made, at = [_PNG], len(_PNG)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        chunk, end = data[at + 8 : at + 8 + size], at + 12 + size
        if kind == b"eXIf":
            exif = bytearray(chunk)
            _blank_gps(exif, 0)
            made.append(_png_chunk(kind, bytes(exif)))
        elif not (kind in _PNG_TEXT and _may_tell(chunk)):
            made.append(data[at:end])
        at = end
    return b"".join(made)


def _may_tell(text: bytes) -> bool:
    """EXIF as hexadecimal digits, XMP that is compressed, and XMP that says it."""
    if not text.startswith(_PNG_XMP):
        return text.startswith(_PNG_PROFILE)
    compressed = text[len(_PNG_XMP) : len(_PNG_XMP) + 1] != b"\0"
    return compressed or any(word in text for word in _TELLING)


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _blank_gps(data: bytearray, base: int) -> None:
    """Blank the GPS directories of a TIFF header at `base`; what is damaged is left: it is read once more."""
    order = "<" if data.startswith(b"II", base) else ">"
    try:
        (directory,) = struct.unpack_from(f"{order}I", data, base + 4)
        for _ in range(_MAX_DIRECTORIES):
            if not directory:
                return
            (entries,) = struct.unpack_from(f"{order}H", data, base + directory)
            first = base + directory + 2
            for entry in range(first, first + 12 * entries, 12):
                tag, _, _, value = struct.unpack_from(f"{order}HHII", data, entry)
                if tag == _GPS_DIRECTORY:
                    _blank_directory(data, base, value, order)
            (directory,) = struct.unpack_from(f"{order}I", data, first + 12 * entries)
    except struct.error:
        return


def _blank_directory(data: bytearray, base: int, directory: int, order: str) -> None:
    (entries,) = struct.unpack_from(f"{order}H", data, base + directory)
    first = base + directory + 2
    for entry in range(first, first + 12 * entries, 12):
        _, kind, count, value = struct.unpack_from(f"{order}HHII", data, entry)
        size = _SIZES.get(kind, 1) * count
        if size > _INLINE:
            _blank(data, base + value, size)
        _blank(data, entry, 12)
    _blank(data, base + directory, 2)


def _blank(data: bytearray, start: int, size: int) -> None:
    end = min(start + size, len(data))
    if start < end:
        data[start:end] = bytes(end - start)


def _blank_xmp(data: bytes) -> bytes:
    if not any(word in data for word in _TELLING):
        return data
    for pattern in _XMP:
        data = pattern.sub(lambda found: found[1] + found[2] + b" " * len(found[3]), data)
    return data
