"""GIF files block by block: frames with how they are shown, and how often an animation is repeated."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

_HEAD, _IMAGE_HEAD = 13, 10
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_CONTROL, _APPLICATION = 0xF9, 0xFF
_HAS_COLOURS, _COLOURS = 0x80, 0x07
_REPEATED = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0"})
_PROFILE = b"ICCRGBG1012"


def strip(data: bytes, picture: Image.Image) -> bytes:  # noqa: ARG001 - as all of these
    """The file up to its end, with frames alone: no comments, no XMP."""
    at = _HEAD + _colours(data, _HEAD - 3)
    made = [data[:at]]
    while at < len(data) and data[at] != _END:
        if data[at] == _EXTENSION:
            end = _blocks_end(data, at + 2)
            made.append(_extension(data, at, end))
        elif data[at] == _IMAGE:
            end = _blocks_end(data, at + _IMAGE_HEAD + _colours(data, at + _IMAGE_HEAD - 1) + 1)
            made.append(data[at:end])
        else:  # between blocks, where nothing is to be
            end = at + 1
        at = end
    return b"".join((*made, bytes((_END,))))


def _extension(data: bytes, start: int, end: int) -> bytes:
    whole, kind = data[start:end], data[start + 1 : start + 2]
    if kind == bytes((_CONTROL,)):
        return whole
    blocks = list(_blocks(data, start + 2))
    if kind != bytes((_APPLICATION,)) or not blocks:
        return b""
    if blocks[0] == _PROFILE:
        return whole
    repeated = next((each[:3] for each in blocks[1:] if each[:1] == b"\x01"), b"")
    stays = blocks[0] in _REPEATED and repeated
    return b"\x21\xff\x0b" + blocks[0] + bytes((len(repeated),)) + repeated + b"\0" if stays else b""


def _colours(data: bytes, flags: int) -> int:
    """Bytes of the table of colours that a byte announces."""
    said = data[flags] if flags < len(data) else 0
    return 3 << ((said & _COLOURS) + 1) if said & _HAS_COLOURS else 0


def _blocks(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data) and data[at]:
        yield data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]


def _blocks_end(data: bytes, at: int) -> int:
    """Behind the empty block that is the last."""
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1
