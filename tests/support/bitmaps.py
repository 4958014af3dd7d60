"""BMP files whose bytes that are no pixel say whatever the test wants."""

from __future__ import annotations

import random
import struct

WIDTH, HEIGHT = 13, 5
"""A row ends within a word, and one of few bits within a byte."""
HEADS = {12: (1, 4, 8, 24), 40: (1, 4, 8, 16, 24, 32), 64: (8, 24), 108: (4, 8, 24, 32), 124: (8, 24)}
"""Of each length, which bits of a pixel are tried."""
KINDS = [(head, bits) for head, all_bits in HEADS.items() for bits in all_bits]
_COLOURS = 2
"""Of each palette, that pixels have."""


def bitmap(head: int, bits: int, chance: random.Random) -> bytes:
    """A file whose pixels are always the same, and whose other bytes are by chance."""
    palette = (
        b"".join(_colour(at, 3 if head == 12 else 4, chance) for at in range(1 << bits)) if bits < 9 else b""
    )
    about = _head(head, bits, chance)
    offset = 14 + len(about) + len(palette) + 6
    begin = b"BM" + chance.randbytes(8) + struct.pack("<I", offset)
    rows = b"".join(_row(y, bits, chance) for y in range(HEIGHT))
    return begin + about + palette + chance.randbytes(6) + rows + chance.randbytes(9)


def _head(head: int, bits: int, chance: random.Random) -> bytes:
    if head == 12:
        return struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits)
    told = struct.pack("<IiiHHIIiiII", head, WIDTH, HEIGHT, 1, bits, 0, 0, 0, 0, 0, 0)
    if head < 108:
        return told + chance.randbytes(head - 40)
    return told + bytes(16) + b"BGRs" + chance.randbytes(head - 60)


def _colour(at: int, width: int, chance: random.Random) -> bytes:
    shown = bytes([90, 10 + at, 200]) if at < _COLOURS else chance.randbytes(3)
    return shown + chance.randbytes(width - 3)


def _row(y: int, bits: int, chance: random.Random) -> bytes:
    values = [(x * 7 + y * 3) % _COLOURS for x in range(WIDTH)]
    if bits < 9:
        text = "".join(f"{value:0{bits}b}" for value in values)
        text += "".join(chance.choice("01") for _ in range(-len(text) % 8))
        row = bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))
    else:
        row = b"".join(_pixel(value, bits, chance) for value in values)
    return row + chance.randbytes(-len(row) % 4)


def _pixel(value: int, bits: int, chance: random.Random) -> bytes:
    if bits == 16:
        return struct.pack("<H", 12345 + value * 999 & 0x7FFF | chance.choice((0, 0x8000)))
    shown = bytes([50 + value * 100, 120, 33])
    return shown + chance.randbytes(1) if bits == 32 else shown
