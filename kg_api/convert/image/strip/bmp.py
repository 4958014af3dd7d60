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
_LINE_ENDS, _RUN_ENDS, _DELTA = 0, 1, 2


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file without what no pixel is made of; a profile, which hardly a reader uses, is sRGB then."""
    if not isinstance(picture, ImageFile.ImageFile) or not picture.tile:
        return data
    codec, _, offset, arguments = picture.tile[0]
    if not isinstance(arguments, tuple):
        return data
    if offset > len(data):
        raise struct.error("its pixels would begin behind its end")
    if codec == "raw":
        end = offset + arguments[1] * picture.height
    else:
        end = _end_of_runs(data, offset, picture.size, halves=bool(arguments[1]))
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


def _end_of_runs(data: bytes, at: int, size: tuple[int, int], *, halves: bool) -> int:
    """Where run-length encoded pixels end, of half a byte or one, as Pillow reads them.

    As in Microsoft's "Bitmap Compression": pairs of a count and a value; a count of zero escapes: the end of
    a line, the end of the picture, a move, or so many values as they are, in whole words. No pixel is behind
    the last of the picture, whether its end is told or not.
    """
    width, every = size[0], size[0] * size[1]
    done = x = 0
    while done < every and at + 1 < len(data):
        count, value = data[at : at + 2]
        at += 2
        if count:
            drawn = max(0, min(count, width - x))
            done, x = done + drawn, x + drawn
        elif value == _LINE_ENDS:
            done, x = done + -done % width, 0
        elif value == _RUN_ENDS:
            break
        elif value == _DELTA:
            done = min(every, done + sum(a * b for a, b in zip(data[at : at + 2], (1, width), strict=False)))
            at, x = at + 2, done % width
        else:
            stored = min(every - done, value)
            at += (stored + 1) // 2 if halves else stored
            done, x = done + stored, x + value
            at += at % 2 if done < every else 0
    return min(at, len(data))
