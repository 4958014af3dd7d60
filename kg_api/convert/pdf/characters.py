"""The characters of a page as pieces of text with their places and fonts, by PDFium."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.fonts import Style, Styles, along
from kg_api.convert.pdf.layout import TextRun
from kg_api.convert.pdf.letters import BLANKS, LINE_ENDS, accented, is_from_right, letters, written

_WIDE_GAP = 0.9
"""Of the font size: what stands further apart is in another column or cell."""
_SPACE, _NARROW_SPACE, _WIDER = 0.24, 0.15, 0.1
"""Of the font size: a blank, and one in a line that is set tightly, where the letters before stand closer."""
_OVERLAP = 0.6
_OTHER_BASELINE = 0.6
_MONO_SHARE = 0.9


@dataclass
class PageText:
    """A page's text: what is written along most of its lines, and what stands across them."""

    height: float
    pieces: list[TextRun] = field(default_factory=list[TextRun])
    across: list[TextRun] = field(default_factory=list[TextRun])
    is_blank: bool = False
    """There is nothing on it at all, no picture either."""
    turn: int | None = None
    """Quarters against the clock in which most lines are written; None: there are none, or OCR read them."""


def without_text(pages: Sequence[PageText]) -> tuple[int, ...]:
    """Give the pages, from 1, that have something on them but no text."""
    return tuple(n for n, page in enumerate(pages, 1) if not (page.pieces or page.across or page.is_blank))


class _Open:
    """A piece that is being written."""

    def __init__(self, style: Style, text: str, left: float, right: float) -> None:
        self.style, self.letters = style, [text]
        self.left, self.right = left, right
        self.last_left, self.last_right = left, right
        self.last_gap = float("inf")
        self.styles = Counter({style: 1})
        self.from_right = 0

    def takes(self, style: Style, left: float) -> bool:
        size = max(self.style.size, style.size)
        if style is not self.style and not self._is_beside(style, size):
            return False
        gap, step = left - self.last_right, left - self.last_left
        return -_OVERLAP * size < gap < _WIDE_GAP * size or 0 <= step <= size  # a ligature's share its box

    def takes_from_right(self, style: Style, right: float) -> bool:
        size = max(self.style.size, style.size)
        return self._is_beside(style, size) and -_OVERLAP * size < self.last_left - right < _WIDE_GAP * size

    def _is_beside(self, style: Style, size: float) -> bool:
        near = abs(style.baseline - self.style.baseline) < _OTHER_BASELINE * size
        return near and style.turn == self.style.turn

    def is_apart(self, style: Style, left: float) -> bool:
        """A blank is left before it, though none is written; letters that are all spread out have none."""
        gap = left - self.last_right
        tight = gap > _NARROW_SPACE * style.size and gap > self.last_gap + _WIDER * style.size
        return tight or gap > _SPACE * style.size

    def add(self, style: Style, text: str, left: float, right: float, *, space: bool) -> None:
        over = left < (self.last_left + self.last_right) / 2
        if over and (letter := accented(self.letters[-1], text)):
            self.letters[-1] = letter
        else:
            self.letters.append(f" {text}" if space else text)
        self.last_gap = left - self.last_right
        self.left, self.right = min(self.left, left), max(self.right, right)
        self.last_left, self.last_right = left, right
        self.styles[style] += 1

    def closed(self) -> TextRun:
        most = self.styles.most_common(1)[0][0]
        count = self.styles.total()
        bold = sum(number for style, number in self.styles.items() if style.bold) / count
        mono = sum(number for style, number in self.styles.items() if style.mono) / count
        text, from_right = written(self.letters), self.from_right * 2 > count
        return TextRun(
            text, self.left, self.right, most.baseline, most.size, bold, mono >= _MONO_SHARE, from_right
        )


class _Reader:
    """Reads one page. Calls of PDFium are counted in microseconds here: there are thousands a page."""

    def __init__(self, text_page: pdfium.PdfTextPage) -> None:
        self.page: Any = text_page.raw
        self.box = raw.FS_RECTF()
        self.open: _Open | None = None
        self.space = False

    def pieces(self) -> Iterator[tuple[int, TextRun]]:
        page, styles, address, style = self.page, Styles(self.page), 0, Style()
        for i in range(raw.FPDFText_CountChars(page)):
            code = raw.FPDFText_GetUnicode(page, i)
            text_object = raw.FPDFText_GetTextObject(page, i)
            if not text_object or (code in BLANKS and not is_ligature(page, code, i)):
                if code in LINE_ENDS and not text_object:  # PDFium puts them in, as it does with some blanks
                    yield from self._close()
                self.space = True
            elif text := letters(code):
                if (here := ctypes.addressof(text_object.contents)) != address:
                    address, style = here, styles.style(text_object, i)
                yield from self._add(i, code, text, style)
        yield from self._close()

    def _add(self, i: int, code: int, text: str, style: Style) -> Iterator[tuple[int, TextRun]]:
        raw.FPDFText_GetLooseCharBox(self.page, i, self.box)
        left, right = along(style.turn, self.box)
        last = self.open
        if last and last.takes(style, left):
            last.add(style, text, left, right, space=self.space or last.is_apart(style, left))
        elif last and is_from_right(code) and last.takes_from_right(style, right):
            last.add(style, text, left, right, space=self.space)
            last.from_right += 1
        else:
            yield from self._close()
            self.open = _Open(style, text, left, right)
        self.space = False

    def _close(self) -> Iterator[tuple[int, TextRun]]:
        if self.open:
            yield self.open.style.turn, self.open.closed()
            self.open = None


def is_ligature(text_page: Any, code: int, number: int) -> bool:
    """Fonts of TeX without names for their letters have a ligature where others have a line's end."""
    if code != 0x0D:  # noqa: PLR2004
        return False
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, number, box)
    size: float = raw.FPDFText_GetFontSize(text_page, number)
    return bool(box.right - box.left > 0.2 * size)


def read(page: pdfium.PdfPage) -> PageText:
    """Give a page's pieces of text, turned so that most of them are written from left to right."""
    text_page = page.get_textpage()
    try:
        found = list(_Reader(text_page).pieces())
    finally:
        text_page.close()
    turns: Counter[int] = Counter()
    for turn, piece in found:
        turns[turn] += len(piece.text)
    most = turns.most_common(1)[0][0] if turns else 0
    height = page.get_width() if most in {1, 3} else page.get_height()
    pieces = [piece for turn, piece in found if turn == most]
    across = [piece for turn, piece in found if turn != most]
    blank = not raw.FPDFPage_CountObjects(page.raw)
    return PageText(height, pieces, across, is_blank=blank, turn=most if turns else None)
