"""BMP files: heads, palette and pixels, and nothing within, between or behind them."""

from __future__ import annotations

import struct

from PIL import Image, ImageFile

_FILE_HEAD = 14
_LENGTH, _RESERVED = slice(2, 6), slice(6, 10)
_CORE, _INFO, _OS2 = 12, 40, 64
_BIT_FIELDS = 3
_BITS = struct.Struct("<H")
_SIZE = struct.Struct("<I")
_PALETTE_BITS = 8
_MASKS = {_BIT_FIELDS: 12, 6: 16}
"""Bytes of masks behind a head of 40 bytes, by compression."""
_NO_PIXELS = {_OS2: slice(54, 78), 108: slice(74, 122), 124: slice(74, 138)}
"""By head: how OS/2 prints it and what a program calls it; the colours of a screen, and the profile."""
_SPACES = {108: slice(70, 74), 124: slice(70, 74)}
"""By head: what the colour space is."""
_SRGB = b"BGRs"
_NO_TOP_BIT = bytes(each & 0x7F for each in range(256))
_LINE_ENDS, _RUN_ENDS, _DELTA = 0, 1, 2


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file without what no pixel is made of; a profile, which hardly a reader uses, is sRGB then."""
    if not isinstance(picture, ImageFile.ImageFile) or not picture.tile:
        return data
    codec, _, offset, arguments = picture.tile[0]
    if not isinstance(arguments, tuple):
        return data
    if not _FILE_HEAD + _SIZE.unpack_from(data, _FILE_HEAD)[0] <= offset <= len(data):
        raise struct.error("its pixels would begin within its head, or behind its end")
    if codec == "raw":
        content = bytearray(data[: offset + arguments[1] * picture.height])
        _clear_rows(content, offset, picture, raw_mode=arguments[0], stride=arguments[1])
    else:
        content = bytearray(data[: _end_of_runs(data, offset, picture.size, halves=bool(arguments[1]))])
    _clear_heads(content, offset, picture)
    return bytes(content)


def _clear_heads(content: bytearray, offset: int, picture: Image.Image) -> None:
    """No profile, no bytes of the palette that are no colour of the picture, zeros up to the pixels."""
    (head,) = _SIZE.unpack_from(content, _FILE_HEAD)
    content[_LENGTH] = _SIZE.pack(len(content))
    _clear(content, _RESERVED)
    if head in _NO_PIXELS and not _has_masks_of_os2(content, head):
        _clear(content, _NO_PIXELS[head])
    if head in _SPACES:
        content[_SPACES[head]] = _SRGB
    masks, colours = _tables(content, head)
    palette, width = _FILE_HEAD + head + masks, 3 if head == _CORE else 4
    end = palette + width * colours
    if end <= offset:
        _clear_palette(content, palette, width, colours, picture)
    _clear(content, slice(end, offset))


def _has_masks_of_os2(content: bytearray, head: int) -> bool:
    """Whether Pillow reads masks where OS/2 says how it is printed."""
    return head == _OS2 and _compression(content) == _BIT_FIELDS


def _bits(content: bytearray) -> int:
    """Of a pixel."""
    core = _SIZE.unpack_from(content, _FILE_HEAD)[0] == _CORE
    return _BITS.unpack_from(content, 24 if core else 28)[0]


def _compression(content: bytearray) -> int:
    return _SIZE.unpack_from(content, 30)[0]


def _tables(content: bytearray, head: int) -> tuple[int, int]:
    """Behind the head: bytes of masks, and colours of the palette."""
    bits = _bits(content)
    if head == _CORE:
        return 0, 1 << bits if bits <= _PALETTE_BITS else 0
    masks = _MASKS.get(_compression(content), 0) if head == _INFO else 0
    if bits > _PALETTE_BITS:
        return masks, 0
    (colours,) = _SIZE.unpack_from(content, 46)
    return masks, min(colours or 1 << bits, 1 << bits)


def _clear_palette(content: bytearray, at: int, width: int, colours: int, picture: Image.Image) -> None:
    """No fourth bytes, and no colours that no pixel has: those become one that a pixel has.

    So no palette becomes one of greys in their order, or of black and white, which Pillow does without: it
    would read the pixels otherwise.
    """
    if width > 3:  # noqa: PLR2004 - blue, green and red
        _clear(content, slice(at + 3, at + width * colours, width))
    if picture.mode != "P":
        return
    places = [slice(at + width * index, at + width * (index + 1)) for index in range(colours)]
    pixels = picture.histogram()[:colours]
    shown = next((content[place] for place, count in zip(places, pixels, strict=False) if count), None)
    for place, count in zip(places, pixels, strict=False):
        if shown is not None and not count:
            content[place] = shown


def _clear_rows(content: bytearray, offset: int, picture: Image.Image, *, raw_mode: str, stride: int) -> None:
    """No bits behind the end of a row, nor within a pixel where its colours leave some over."""
    whole, left = divmod(picture.width * _bits(content), 8)
    for row in range(offset, len(content), stride):
        if left and row + whole < len(content):
            content[row + whole] &= 0xFF00 >> left & 0xFF
        _clear(content, slice(row + whole + bool(left), row + stride))
    if "X" in raw_mode:
        _clear(content, slice(offset + raw_mode.index("X"), None, 4))
    elif raw_mode == "BGR;15":
        content[offset + 1 :: 2] = content[offset + 1 :: 2].translate(_NO_TOP_BIT)


def _clear(content: bytearray, part: slice) -> None:
    content[part] = bytes(len(range(*part.indices(len(content)))))


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
