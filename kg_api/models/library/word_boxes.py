"""Where the words of a page that OCR read stand on it, and how they are kept with a source."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

_ROW = struct.Struct("!IHIHHHHB")
_FORMAT = b"\x01"
MAX_WORDS = 20_000
"""Kept of one source; it has far fewer."""


class WordBox(NamedTuple):
    """A word and its place; both ends are code points, the sides are in ten thousandths of the page."""

    start: int
    end: int
    page: int
    left: int
    top: int
    right: int
    bottom: int
    confidence: int
    """In hundredths."""


def mean_of(boxes: Sequence[WordBox]) -> float | None:
    """Give the confidence of words together, by letters, from 0 to 1; None of none."""
    letters = sum(box.end - box.start for box in boxes)
    if not letters:
        return None
    return round(sum((box.end - box.start) * box.confidence for box in boxes) / letters / 100, 3)


def pack(boxes: Sequence[WordBox], start: int) -> bytes:
    """Make about nine bytes of each word; its places are counted from `start` then."""
    rows = (
        _ROW.pack(box.start - start, box.end - box.start, box.page, *box[3:]) for box in boxes[:MAX_WORDS]
    )
    return _FORMAT + zlib.compress(b"".join(rows), 9)


def unpack(packed: bytes, start: int) -> list[WordBox]:
    """Give the words again.

    Raises:
        ValueError: this version does not know how they are packed.
    """
    if packed[:1] != _FORMAT:
        raise ValueError("these word boxes were packed by a later version of kg")
    rows = _ROW.iter_unpack(zlib.decompress(packed[1:]))
    return [WordBox(start + row[0], start + row[0] + row[1], *row[2:]) for row in rows]
