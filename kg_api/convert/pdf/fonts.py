"""Where a text object stands, how large it is, and what its font looks like."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from pypdfium2 import raw

_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
_BOLD = re.compile(r"bold|black|heavy|demi|[-,]bd\b|^(cm|sf|ec)(bx|b|ssbx|sx)\d", re.IGNORECASE)
_MONO = re.compile(
    r"mono|courier|consol|menlo|typewriter|^(cm|sf|ec)(sl|it|v)?tt\d|nimbusmon|txtt", re.IGNORECASE
)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_MIN_SIZE, _MAX_SIZE = 2, 300
DOWN = 3
"""Quarter turns of lines that run from top to bottom and follow each other from right to left."""


class Style(NamedTuple):
    """What the letters of a text object share. `turn` counts quarter turns against the clock."""

    turn: int = 0
    baseline: float = 0
    size: float = 0
    bold: bool = False
    mono: bool = False


@dataclass(slots=True)
class PageFont:
    """A font as a page uses it."""

    bold: bool = False
    mono: bool = False
    unchecked: int = 32
    """Characters to look at before the font is taken to have a Unicode map. PDFium answers 1 M/s: not all."""


class Styles:
    """The styles of a page's text objects; fonts are looked at once."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._fonts: dict[int, PageFont] = {}
        self.font = PageFont()
        """Of the last style."""
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()

    def style(self, text_object: Any, i: int) -> Style:
        """Give the style of a text object, by its first letter's index."""
        matrix = self._matrix
        raw.FPDFText_GetMatrix(self._page, i, matrix)
        turn = _turn(matrix.a, matrix.b)
        size: float = raw.FPDFText_GetFontSize(self._page, i) * (matrix.c**2 + matrix.d**2) ** 0.5
        if not _MIN_SIZE < size < _MAX_SIZE:  # fonts that are programs have sizes of their own
            raw.FPDFText_GetLooseCharBox(self._page, i, self._box)
            size = max(1.0, abs(self._box.top - self._box.bottom))
        baseline = (matrix.f, -matrix.e, -matrix.f, matrix.e)[turn]
        self.font = self._font(text_object)
        return Style(turn, baseline, round(size, 1), self.font.bold, self.font.mono)

    def downwards(self, style: Style, i: int) -> Style:
        """Return the style of a text object whose letters stand one below the other."""
        raw.FPDFText_GetMatrix(self._page, i, self._matrix)
        return style._replace(turn=DOWN, baseline=self._matrix.e)

    def _font(self, text_object: Any) -> PageFont:
        font = raw.FPDFTextObj_GetFont(text_object)
        if not font:
            return PageFont()
        address = ctypes.addressof(font.contents)
        if address not in self._fonts:
            self._fonts[address] = PageFont(*_looks(font))
        return self._fonts[address]


def along(turn: int, box: Any) -> tuple[float, float]:
    """Where a letter begins and ends in the direction of its line."""
    if turn == 0:
        return box.left, box.right
    low, high = (box.bottom, box.top) if turn in {1, 3} else (box.left, box.right)
    return (low, high) if turn == 1 else (-high, -low)


def _turn(a: float, b: float) -> int:
    if abs(a) >= abs(b):
        return 0 if a >= 0 else 2
    return 1 if b > 0 else 3


def _looks(font: Any) -> tuple[bool, bool]:
    """Bold, and of one width; by the font's name first: weights that PDFium gives are not to be trusted."""
    buffer = ctypes.create_string_buffer(200)
    raw.FPDFFont_GetBaseFontName(font, buffer, 200)
    name = _SUBSET.sub("", buffer.value.decode("latin-1"))
    flags = max(0, raw.FPDFFont_GetFlags(font))
    return bool(_BOLD.search(name) or flags & _FORCE_BOLD), bool(_MONO.search(name) or flags & _FIXED_PITCH)
