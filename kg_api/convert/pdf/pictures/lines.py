"""Lines that OCR found, as the pieces of text that PDFium would have given: in points, y grows upwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from kg_api.convert.ocr.records import PixelLine, PixelWord
from kg_api.convert.pdf.characters import PageText
from kg_api.convert.pdf.layout import PageWord, TextRun

_GAP = 1.2
"""Of the font size: words further apart are in another column or cell."""
_ALIKE = 0.2
"""Sizes of letters that differ by less are one size: they are measured on a picture."""


def page_text(lines: Sequence[PixelLine], size: tuple[float, float], pixels: tuple[int, int]) -> PageText:
    """Give a page's text.

    Args:
        lines: of its picture; at least one.
        size: width and height of the page, in points.
        pixels: width and height of the picture.
    """
    page = _Page(
        size[1], size[0] / pixels[0], pixels, median(line.size for line in lines for _ in line.words)
    )
    return PageText(page.height, [page.piece(part, line) for line in lines for part in page.parts(line)])


@dataclass(frozen=True, slots=True)
class _Page:
    height: float
    points: float
    """Of a pixel."""
    pixels: tuple[int, int]
    usual: float
    """Size of most letters, in pixels."""

    def parts(self, line: PixelLine) -> Iterator[list[PixelWord]]:
        part: list[PixelWord] = []
        for word in line.words:
            if part and word.left - part[-1].right > _GAP * max(line.size, self.usual):
                yield part
                part = []
            part.append(word)
        yield part

    def piece(self, words: Sequence[PixelWord], line: PixelLine) -> TextRun:
        size = self.usual if abs(line.size - self.usual) <= _ALIKE * self.usual else line.size
        return TextRun(
            " ".join(word.text for word in words),
            min(word.left for word in words) * self.points,
            max(word.right for word in words) * self.points,
            self.height - line.baseline * self.points,
            size * self.points,
            words=tuple(map(self._word, words)),
        )

    def _word(self, word: PixelWord) -> PageWord:
        width, height = self.pixels
        box = (word.left / width, word.top / height, word.right / width, word.bottom / height)
        return PageWord(word.text, box, word.confidence)
