"""Between which blocks of a document a picture stands, by its place on the page. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.convert.pdf.blocks import PdfBlock
from kg_api.convert.pdf.images.captions import Caption, assign, captions
from kg_api.convert.pdf.layout import Column, Line
from kg_api.convert.pdf.objects import Box
from kg_api.models.images import FoundImage, ReadImage


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    page: int
    """From 0."""
    box: Box
    """As the page's text is read: from left to right, y grows upwards."""
    image: ReadImage
    name: str


def with_pictures(blocks: Sequence[PdfBlock], pictures: Sequence[PlacedPicture]) -> list[PdfBlock]:
    """The blocks of a document with its pictures between them."""
    if not pictures:
        return list(blocks)
    ordered = sorted(pictures, key=lambda each: (each.page, -each.box[3], each.box[0]))
    said = assign([(each.page, each.box) for each in ordered], list(captions(blocks)))
    pages = _Pages(blocks)
    slots: dict[int, list[PdfBlock]] = defaultdict(list)
    for number, each in enumerate(ordered):
        caption = said.get(number)
        slots[pages.slot(each, caption)].append(_block(each, caption.text if caption else ""))
    parts = [[*slots[i], block] for i, block in enumerate(blocks)]
    return [each for part in [*parts, slots[len(blocks)]] for each in part]


def images_of(text: str, blocks: Sequence[PdfBlock], begins: Sequence[int]) -> tuple[FoundImage, ...]:
    """The pictures with the places of their words in the text.

    Args:
        text: the document's.
        blocks: in the order of the text.
        begins: where each begins in it.
    """
    found: list[FoundImage] = []
    for block, begin in zip(blocks, begins, strict=True):
        if block.image:
            end = text.find("\n", begin)
            found.append(FoundImage(begin, end if end >= 0 else len(text), block.image))
    return tuple(found)


def _block(picture: PlacedPicture, words: str) -> PdfBlock:
    """Its one line has no words, and tells the page."""
    line = Line([], picture.page, Column(picture.box[0], picture.box[2]))
    return PdfBlock("image", [line], image=picture.image, label=words, name=picture.name)


class _Pages:
    """The lines of each page in reading order, with their blocks."""

    def __init__(self, blocks: Sequence[PdfBlock]) -> None:
        self._blocks = blocks
        self._lines: dict[int, list[tuple[int, Line]]] = defaultdict(list)
        for number, block in enumerate(blocks):
            for line in block.lines:
                if line.column.lines:  # what stands across the page has a column without lines
                    self._lines[line.page].append((number, line))

    def slot(self, picture: PlacedPicture, caption: Caption | None) -> int:
        """Before which block it stands."""
        page, middle = picture.page, (picture.box[1] + picture.box[3]) / 2
        if caption:
            above = (caption.box[1] + caption.box[3]) / 2 > middle
            return self._after(caption.block, page) if above else self._before(caption.block, page)
        lines = self._lines.get(page)
        if not lines:
            following = (i for i, block in enumerate(self._blocks) if block.lines[0].page > page)
            return next(following, len(self._blocks))
        beside = [each for each in lines if _is_over(each[1], picture.box)] or lines
        above = [number for number, line in beside if line.baseline > middle]
        return self._after(above[-1], page) if above else self._before(beside[0][0], page)

    def _after(self, number: int, page: int) -> int:
        """A paragraph that goes on behind the page's end stands behind its picture, which keeps its page."""
        block = self._blocks[number]
        return number if block.lines[0].page == page < block.last.page else number + 1

    def _before(self, number: int, page: int) -> int:
        """As above, of one that has begun on the page before."""
        return number + 1 if self._blocks[number].lines[0].page < page else number


def _is_over(line: Line, box: Box) -> bool:
    return line.left < box[2] and line.right > box[0]
