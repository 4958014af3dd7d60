"""Where in a document's Markdown the words stand that OCR read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.convert.pdf.blocks import PdfBlock
from kg_api.convert.pdf.layout import PageWord
from kg_api.models.library.word_boxes import WordBox

_AHEAD = 80
"""Characters between two words at most: marks of lists and tables, words that are written otherwise."""
_SCALE = 10_000


def place_words(text: str, blocks: Sequence[PdfBlock], begins: Sequence[int]) -> tuple[WordBox, ...]:
    """Find the words of blocks in the text that was made of them.

    Args:
        text: the document's.
        blocks: in the order of the text.
        begins: where each begins in it.
    """
    ends = [*begins, len(text)][1:]
    each = zip(blocks, begins, ends, strict=True)
    return tuple(box for block, begin, end in each for box in _of_block(text, block, begin, end))


def _of_block(text: str, block: PdfBlock, at: int, end: int) -> Iterator[WordBox]:
    for line in block.lines:
        for word in (word for piece in line.pieces for word in piece.words):
            if found := _find(text, word.text, at, end):
                yield _box(word, line.page + 1, found)
                at = found[1]


def _find(text: str, word: str, at: int, end: int) -> tuple[int, int] | None:
    """A word that a line's end tore apart is found without its hyphen."""
    for written in (word, word.removesuffix("-")):
        begin = text.find(written, at, min(end, at + len(written) + _AHEAD)) if written else -1
        if begin >= 0:
            return begin, begin + len(written)
    return None


def _box(word: PageWord, page: int, found: tuple[int, int]) -> WordBox:
    left, top, right, bottom = (min(max(round(each * _SCALE), 0), _SCALE) for each in word.box)
    return WordBox(*found, page, left, top, right, bottom, min(max(round(word.confidence * 100), 0), 100))
