"""The pictures of a Markdown text that lie beside it: its text stays as it is, to the character."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.within import ImagesWithin
from kg_api.models.images import FoundImage
from kg_api.models.library.conversion import Converted
from kg_api.models.library.parsing import Block
from kg_api.parse.beside.references import ImageReference, mentions
from kg_api.parse.cut import line_borders
from kg_api.parse.formats.front_matter import read_front_matter
from kg_api.parse.formats.markdown import blocks
from kg_api.parse.lines import is_blank

_AROUND = re.compile(r"(?:[\s>*+\-\[\\]|\d{1,9}[.)](?=\s)|\]\([^()\s]{0,2000}\)|<[^<>]{0,2000}>)*")
"""What may stand beside pictures on lines of their own: marks of lists and quotations, links, other tags."""


def convert(
    data: bytes, settings: ConversionSettings = DEFAULTS, beside: Mapping[str, bytes] | None = None
) -> Converted:
    """Find the pictures of a text in UTF-8 that stand on lines of their own.

    One in the middle of a sentence stays a word of it, for a passage is a part of the text.

    Args:
        data: the text.
        settings: bounds of the pictures.
        beside: their files, by `key_of` their references.
    """
    text, files, images = data.decode(), beside or {}, ImagesWithin(settings)
    left = deque(sorted(each for each in mentions(text) if each.key in files))
    taken, within = list[FoundImage](), 0
    for block in _blocks(text):
        here = _inside(left, block)
        alone = list(_alone(text, block, here))
        within += len(here) - len(alone)
        read = ((each, images.read(files[each.key])) for each in alone)
        taken += [FoundImage(each.start, each.end, image) for each, image in read if image]
    notes = (f"left out: pictures within sentences and tables ({within:,})",) if within else ()
    return Converted(text, notes=(*notes, *images.notes()), images=tuple(taken))


def _inside(left: deque[ImageReference], block: Block) -> list[ImageReference]:
    """Take what is within a block, and what is before it: that is in code."""
    here: list[ImageReference] = []
    while left and left[0].start < block.end:
        each = left.popleft()
        if each.start >= block.start:
            here.append(each)
    return here


def _blocks(text: str) -> Iterator[Block]:
    """The blocks in which pictures are, and no examples of them."""
    front = read_front_matter(text).end
    begin = 0 if is_blank(text, front, len(text)) else front
    return (block for block in blocks(text, begin) if block.kind not in {"code", "other"})


def _alone(text: str, block: Block, here: Sequence[ImageReference]) -> Iterator[ImageReference]:
    """Those that are all there is on their lines; they share what stands beside them there."""
    if block.kind == "markup":
        yield from _of_line(text, block.start, block.end, here)
    elif block.kind in {"paragraph", "list_item"}:
        lines = [block.start, *line_borders(text, block.start, block.end), block.end]
        for start, end in pairwise(lines):
            yield from _of_line(text, start, end, [each for each in here if start <= each.start < end])


def _of_line(text: str, start: int, end: int, here: Sequence[ImageReference]) -> Iterator[ImageReference]:
    if not here or any(each.end > end for each in here):
        return
    borders = [start, *(at for each in here for at in (each.start, each.end)), end]
    rest = " ".join(text[begin:stop] for begin, stop in zip(borders[::2], borders[1::2], strict=True))
    if not _AROUND.fullmatch(rest):
        return
    begins = [
        start + len(text[start:end]) - len(text[start:end].lstrip()),
        *(each.start for each in here[1:]),
    ]
    ends = [*begins[1:], start + len(text[start:end].rstrip())]
    for each, begin, stop in zip(here, begins, ends, strict=True):
        yield ImageReference(begin, begin + len(text[begin:stop].rstrip()), each.key)
