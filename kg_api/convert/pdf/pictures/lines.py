"""Lines that OCR found, as the pieces of text that PDFium would have given: in points, y grows upwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from kg_api.convert.ocr.records import PixelLine, PixelWord
from kg_api.convert.pdf.characters import PageText
from kg_api.convert.pdf.layout import PageWord, TextRun

_GAP = 1.2
"""Of the font size: words further apart are in another column or cell."""
_AROUND = 0.3
"""Of the font size: a word that OCR finds is so far off at most."""
_ALIKE = 0.2
"""Sizes of letters that differ by less are one size: they are measured on a picture."""


@dataclass(frozen=True, slots=True)
class PictureScale:
    """A page and the picture that was drawn of it."""

    size: tuple[float, float]
    """Width and height of the page, in points."""
    pixels: tuple[int, int]
    """Width and height of the picture."""

    @property
    def points(self) -> float:
        """Of a pixel."""
        return self.size[0] / self.pixels[0]

    def read_page(self, lines: Sequence[PixelLine]) -> PageText:
        """Return the text of the page. There is at least one line."""
        usual = median(line.size for line in lines for _ in line.words)
        pieces = [self._read_piece(part, line, usual) for line in lines for part in _divide(line, usual)]
        return PageText(self.size[1], pieces)

    def pick(
        self,
        lines: Sequence[PixelLine],
        *,
        within: Sequence[TextRun] | None = None,
        without: Sequence[TextRun] = (),
    ) -> list[PixelLine]:
        """Return lines with those of their words that stand where some text does, or where none does."""
        picked: list[PixelLine] = []
        for line in lines:
            words = tuple(
                word
                for word in line.words
                if not self._is_on(word, without) and (within is None or self._is_on(word, within))
            )
            if words:
                picked.append(replace(line, words=words))
        return picked

    def _is_on(self, word: PixelWord, runs: Sequence[TextRun]) -> bool:
        across = (word.left + word.right) / 2 * self.points
        up = self.size[1] - (word.top + word.bottom) / 2 * self.points
        return any(
            run.left - _AROUND * run.size < across < run.right + _AROUND * run.size
            and run.bottom - _AROUND * run.size < up < run.top + _AROUND * run.size
            for run in runs
        )

    def _read_piece(self, words: Sequence[PixelWord], line: PixelLine, usual: float) -> TextRun:
        size = usual if abs(line.size - usual) <= _ALIKE * usual else line.size
        return TextRun(
            " ".join(word.text for word in words),
            min(word.left for word in words) * self.points,
            max(word.right for word in words) * self.points,
            self.size[1] - line.baseline * self.points,
            size * self.points,
            words=tuple(map(self._place_word, words)),
        )

    def _place_word(self, word: PixelWord) -> PageWord:
        width, height = self.pixels
        box = (word.left / width, word.top / height, word.right / width, word.bottom / height)
        return PageWord(word.text, box, word.confidence)


def move_run(run: TextRun, right: float, up: float) -> TextRun:
    """Return the same text at another place."""
    return replace(run, left=run.left + right, right=run.right + right, baseline=run.baseline + up)


def _divide(line: PixelLine, usual: float) -> Iterator[list[PixelWord]]:
    part: list[PixelWord] = []
    for word in line.words:
        if part and word.left - part[-1].right > _GAP * max(line.size, usual):
            yield part
            part = []
        part.append(word)
    yield part
