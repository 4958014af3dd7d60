"""The characters of a page as pieces of text with their places and fonts, by PDFium."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from kg_api.convert.pdf.layout import Piece

_WIDE_GAP = 0.9
"""Of the font size: what stands further apart is in another column or cell."""
_SPACE = 0.25
_OTHER_BASELINE = 0.6
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
_BOLD = re.compile(r"bold|black|heavy|demi|[-,]bd\b|^(cm|sf|ec)(bx|b|ssbx|sx)\d", re.IGNORECASE)
_MONO = re.compile(
    r"mono|courier|consol|menlo|typewriter|^(cm|sf|ec)(sl|it|v)?tt\d|nimbusmon|txtt", re.IGNORECASE
)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_ACCENTS = {"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "¸": "\u0327",
            "˚": "\u030a", "¯": "\u0304", "˙": "\u0307", "˘": "\u0306", "˝": "\u030b"}  # fmt: skip
_LETTERS = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)} | {
    0x0B: "ff", 0x0C: "fi", 0x0D: "fl", 0x0E: "ffi", 0x0F: "ffl", 0x10: "“", 0x11: "”", 0x15: "–", 0x16: "—",
    0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl", 0x02: "-", 0xFFFE: "-", 0x2010: "-", 0x2011: "-", 0xF0B7: "•", 0xF0A7: "▪", 0xF076: "•", 0xF0D8: "▪", 0x200B: "",
    0xFEFF: "", 0xFFFF: "",
}  # fmt: skip


class _Style(NamedTuple):
    turn: int
    baseline: float
    size: float
    bold: bool
    mono: bool


@dataclass
class PageText:
    """A page's text: what is written along most of its lines, and what stands across them."""

    height: float
    pieces: list[Piece] = field(default_factory=list[Piece])
    across: list[Piece] = field(default_factory=list[Piece])
    is_blank: bool = False
    """There is nothing on it at all, no picture either."""


class _Open:
    """A piece that is being written."""

    def __init__(self, style: _Style, letters: str, left: float, right: float) -> None:
        self.style, self.letters = style, [letters]
        self.left, self.right = left, right
        self.last_left, self.last_right = left, right
        self.bold, self.mono = int(style.bold), int(style.mono)
        self.sizes = Counter({style: 1})
        self.from_right = 0

    def takes(self, style: _Style, left: float, right: float) -> bool:
        size = max(self.style.size, style.size)
        same = style.turn == self.style.turn
        near = abs(style.baseline - self.style.baseline) < _OTHER_BASELINE * size
        return same and near and (self._gap(left, right, size) is not None)

    def _gap(self, left: float, right: float, size: float) -> float | None:
        if (
            -0.6 * size < (gap := left - self.last_right) < _WIDE_GAP * size
            or left > self.last_left >= left - size
        ):
            return gap
        return None

    def takes_from_right(self, left: float, right: float, size: float) -> bool:
        return -0.6 * size < self.last_left - right < _WIDE_GAP * size

    def add(self, style: _Style, letters: str, left: float, right: float, *, space: bool) -> None:
        accent = _ACCENTS.get(self.letters[-1])
        if accent and left < (self.last_left + self.last_right) / 2 and letters.isalpha():
            self.letters[-1] = unicodedata.normalize("NFC", letters[0] + accent + letters[1:])
        else:
            self.letters.append(f" {letters}" if space else letters)
        self.left, self.right = min(self.left, left), max(self.right, right)
        self.last_left, self.last_right = left, right
        self.bold += style.bold
        self.mono += style.mono
        self.sizes[style] += 1

    def closed(self) -> Piece:
        style = self.sizes.most_common(1)[0][0]
        count, text = len(self.letters), "".join(self.letters)
        piece = Piece(text, self.left, self.right, style.baseline, style.size, self.bold / count)
        piece.mono = self.mono >= 0.9 * count
        piece.from_right = self.from_right > len(self.letters) / 2
        return piece


class _Reader:
    """Reads one page. Calls of PDFium are counted in microseconds here: there are thousands a page."""

    def __init__(self, text_page: pdfium.PdfTextPage) -> None:
        self.page: Any = text_page.raw
        self.fonts: dict[int, tuple[bool, bool]] = {}
        self.box, self.matrix = raw.FS_RECTF(), raw.FS_MATRIX()

    def pieces(self) -> Iterator[tuple[int, Piece]]:
        box, reference, page = self.box, ctypes.byref(self.box), self.page
        address, style, last, space = 0, _Style(0, 0, 0, False, False), None, False
        letter = high = 0
        for i in range(raw.FPDFText_CountChars(page)):
            letter = raw.FPDFText_GetUnicode(page, i)
            written = raw.FPDFText_GetTextObject(page, i)
            if not written or (
                letter in {0x20, 0xA0, 0x09, 0x0A, 0x0D, 0x3000} and not self._is_ligature(letter, i)
            ):
                if last and letter in {0x0A, 0x0D} and not written:
                    yield last.style.turn, last.closed()
                    last = None
                space = True
                continue
            if 0xD800 <= letter < 0xDC00:
                high = letter
                continue
            if high and 0xDC00 <= letter < 0xE000:
                letter = 0x10000 + ((high - 0xD800) << 10) + (letter - 0xDC00)
            high = 0
            letters = _LETTERS.get(letter) if letter in _LETTERS else chr(letter) if letter >= 0x20 else ""
            if not letters or 0xD800 <= letter < 0xE000:
                continue
            if (here := ctypes.addressof(written.contents)) != address:
                address, style = here, self._style(written, i)
            raw.FPDFText_GetLooseCharBox(page, i, reference)
            left, right = _along(style.turn, box)
            rtl = letter > 0x58F and unicodedata.bidirectional(letters[0]) in {"R", "AL"}
            if last and last.takes(style, left, right):
                gap = left - last.last_right
                last.add(style, letters, left, right, space=space or gap > _SPACE * style.size)
            elif last and rtl and last.takes_from_right(left, right, style.size):
                last.add(style, letters, left, right, space=space)
                last.from_right += 1
            else:
                if last:
                    yield last.style.turn, last.closed()
                last = _Open(style, letters, left, right)
            space = False
        if last:
            yield last.style.turn, last.closed()

    def _is_ligature(self, letter: int, i: int) -> bool:
        """Fonts of TeX without names for their letters have ligatures where others have line ends."""
        if letter != 0x0D:  # noqa: PLR2004
            return False
        raw.FPDFText_GetLooseCharBox(self.page, i, self.box)
        return self.box.right - self.box.left > 0.2 * raw.FPDFText_GetFontSize(self.page, i)

    def _style(self, written: Any, i: int) -> _Style:
        matrix, page = self.matrix, self.page
        raw.FPDFText_GetMatrix(page, i, matrix)
        turn = _turn(matrix.a, matrix.b)
        size = raw.FPDFText_GetFontSize(page, i) * (matrix.c**2 + matrix.d**2) ** 0.5
        if not 2 < size < 300:  # fonts that are programs have sizes of their own
            raw.FPDFText_GetLooseCharBox(page, i, self.box)
            size = max(1.0, abs(self.box.top - self.box.bottom))
        baseline = (matrix.f, -matrix.e, -matrix.f, matrix.e)[turn]
        return _Style(turn, baseline, round(size, 1), *self._font(written))

    def _font(self, written: Any) -> tuple[bool, bool]:
        font = raw.FPDFTextObj_GetFont(written)
        if not font:
            return False, False
        address = ctypes.addressof(font.contents)
        if address not in self.fonts:
            name, flags = _name(font), raw.FPDFFont_GetFlags(font)
            bold = bool(_BOLD.search(name)) or bool(flags > 0 and flags & _FORCE_BOLD)
            self.fonts[address] = bold, bool(_MONO.search(name)) or bool(flags > 0 and flags & _FIXED_PITCH)
        return self.fonts[address]


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
    along = [piece for turn, piece in found if turn == most]
    across = [piece for turn, piece in found if turn != most]
    return PageText(height, along, across, is_blank=not raw.FPDFPage_CountObjects(page.raw))


def _turn(a: float, b: float) -> int:
    """Quarter turns against the clock."""
    if abs(a) >= abs(b):
        return 0 if a >= 0 else 2
    return 1 if b > 0 else 3


def _along(turn: int, box: Any) -> tuple[float, float]:
    if turn == 0:
        return box.left, box.right
    low, high = (box.bottom, box.top) if turn in {1, 3} else (box.left, box.right)
    return (low, high) if turn == 1 else (-high, -low)


def _name(font: Any) -> str:
    buffer = ctypes.create_string_buffer(200)
    raw.FPDFFont_GetBaseFontName(font, buffer, 200)
    return _SUBSET.sub("", buffer.value.decode("latin-1"))
