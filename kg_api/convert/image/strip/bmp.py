"""BMP files: heads, palette and pixels, and nothing between or behind them."""

from __future__ import annotations

import struct

from PIL import Image, ImageFile

_FILE_HEAD = 14
_RESERVED = slice(6, 10)
_CORE, _INFO, _V5 = 12, 40, 124
_CORE_BITS = struct.Struct("<H")
_BITS_AND_COMPRESSION = struct.Struct("<HI")
_SIZE = struct.Struct("<I")
_PALETTE_BITS = 8
_MASKS = {3: 12, 6: 16}
"""Bytes of masks behind a head of 40 bytes, by compression."""
_SPACE, _PROFILE = slice(70, 74), slice(126, 138)
"""In version 5: what the colour space is, and where its profile lies, or which file it is."""
_SRGB = b"BGRs"
_RUN_ENDS, _DELTA = 1, 2


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file without what no pixel is made of; a profile, which hardly a reader uses, is sRGB then."""
    if not isinstance(picture, ImageFile.ImageFile) or not picture.tile:
        return data
    codec, _, offset, arguments = picture.tile[0]
    if not isinstance(arguments, tuple):
        return data
    if codec == "raw":
        end = offset + arguments[1] * picture.height
    else:
        end = _end_of_runs(data, offset, halves=bool(arguments[1]))
    return _cleared(bytearray(data[:end]), offset)


def _cleared(content: bytearray, offset: int) -> bytes:
    """Zeros between the palette and the pixels, and no profile."""
    (head,) = _SIZE.unpack_from(content, _FILE_HEAD)
    content[_RESERVED] = bytes(4)
    if head == _V5:
        content[_SPACE], content[_PROFILE] = _SRGB, bytes(12)
    begin = _FILE_HEAD + head + _tables(content, head)
    content[begin:offset] = bytes(max(0, offset - begin))
    return bytes(content)


def _tables(content: bytearray, head: int) -> int:
    """Bytes of masks and palette behind the head."""
    if head == _CORE:
        (bits,) = _CORE_BITS.unpack_from(content, 24)
        return 3 << bits if bits <= _PALETTE_BITS else 0
    bits, compression = _BITS_AND_COMPRESSION.unpack_from(content, 28)
    masks = _MASKS.get(compression, 0) if head == _INFO else 0
    if bits > _PALETTE_BITS:
        return masks
    (colours,) = _SIZE.unpack_from(content, 46)
    return masks + 4 * min(colours or 1 << bits, 1 << bits)


def _end_of_runs(data: bytes, at: int, *, halves: bool) -> int:
    """Where run-length encoded pixels end, of half a byte or one.

    As in Microsoft's "Bitmap Compression": pairs of a count and a value; a count of zero escapes: the end of
    a line, the end of the picture, a move, or so many values as they are, in whole words.
    """
    while at + 1 < len(data):
        count, value = data[at : at + 2]
        at += 2
        if count:
            continue
        if value == _RUN_ENDS:
            return at
        if value == _DELTA:
            at += 2
        elif value:
            stored = (value + 1) // 2 if halves else value
            at += stored + stored % 2
    return len(data)
