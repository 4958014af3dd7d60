"""Pictures: which bytes are one, and which blocks of a document are the words of one."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kg_api.models.library.parsing import Block, ParsedDocument
from kg_api.parse.lines import is_blank

_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_BMP_HEAD = struct.Struct("<2sI4xII")

Place = tuple[int, int]
"""Where the words of a picture begin and end."""


def is_image(data: bytes) -> bool:
    """Whether bytes are plainly a picture of a kind that is read, by how they begin."""
    if data.startswith(_BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return True
    if not data.startswith(b"BM") or len(data) < _BMP_HEAD.size:
        return False
    _, _, _, header = _BMP_HEAD.unpack_from(data)
    return header in _BMP_HEADERS


def with_images(document: ParsedDocument, places: Sequence[Place]) -> ParsedDocument:
    """The same document, where blocks that say nothing but a picture's words are pictures."""
    if not places:
        return document
    return replace(document, blocks=tuple(_marked(document, places)))


def _marked(document: ParsedDocument, places: Sequence[Place]) -> Iterator[Block]:
    left = deque(places)
    for block in document.blocks:
        here: list[Place] = []
        while left and left[0][0] < block.end:
            here.append(left.popleft())
        within = [(start, end) for start, end in here if start >= block.start and end <= block.end]
        yield from _divided(document.text, block, within)


def _divided(text: str, block: Block, places: Sequence[Place]) -> Iterator[Block]:
    """A block whose lines are pictures and others is as many blocks."""
    at = block.start
    for start, end in places:
        if not is_blank(text, at, start):
            yield replace(block, start=at, end=start)
            at = start
        stop = block.end if is_blank(text, end, block.end) else end
        yield replace(block, kind="image", start=at, end=stop)
        at = stop
    if at < block.end:
        yield replace(block, start=at)
