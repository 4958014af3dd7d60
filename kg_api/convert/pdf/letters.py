"""Letters, fonts and objects of a PDF page."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, cast

import pypdfium2 as pdfium
from pypdfium2 import PdfMatrix, raw

from kg_api.convert.shared.markdown_text import lower_text, raise_text

BLANKS = frozenset((0x20, 0xA0, 0x09, 0x0A, 0x0D, 0x3000))
LINE_ENDS = frozenset((0x0A, 0x0D))
_FIRST_PRINTED = 0x20
_FIRST_FROM_RIGHT = 0x590
_SURROGATE = re.compile("[\ud800-\udfff]")

_ACCENTS = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c",
    "¸": "\u0327", "˚": "\u030a", "¯": "\u0304", "˙": "\u0307", "˘": "\u0306", "˝": "\u030b",
}  # fmt: skip

_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_TEX = {
    0x0B: "ff", 0x0C: "fi", 0x0D: "fl", 0x0E: "ffi", 0x0F: "ffl", 0x10: "“", 0x11: "”", 0x15: "–", 0x16: "—",
    0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl", 0x84: "†", 0x85: "‡", 0x88: "•",
}  # fmt: skip
"""Places in TeX's own encodings (OT1, T1, TS1), in files that do not say what their letters are."""
_HYPHENS = dict.fromkeys((0x02, 0xFFFE, 0x2010, 0x2011), "-")
_BULLETS = {
    0xF0B7: "•", 0xF0A7: "▪", 0xF076: "•", 0xF0D8: "▪", 0xF06C: "●", 0xF06E: "■", 0xF071: "❑", 0xF06F: "□",
    0xF0A8: "□", 0xF0FC: "✓", 0xF0FB: "✗", 0xF0FD: "☒", 0xF0FE: "☑", 0xF0E0: "→",
}  # fmt: skip
"""Places in Symbol and Wingdings, as programs write their bullets."""
_NOTHING = dict.fromkeys((0x200B, 0xFEFF, 0xFFFF), "")
_LETTERS = _LIGATURES | _TEX | _HYPHENS | _BULLETS | _NOTHING
UNKNOWN = "\ufdd0"  # stands for a control code, which some font draws as a letter
MEANINGLESS = frozenset((*range(0x20), *range(0x7F, 0xA0), *range(0xE000, 0xF900), 0xFFFD)) - _LETTERS.keys()
"""Codes that are no letter of any script."""
_CJK = re.compile("[\u2e80-\u30ff\u3100-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]")
"""Scripts without blanks between words; Hangul has them."""


@lru_cache(maxsize=8192)
def letters(code: int) -> str:
    """Give what a reader sees: a ligature is its letters, a control code nothing."""
    return _LETTERS.get(code, chr(code) if _FIRST_PRINTED <= code <= 0x10FFFF else "")  # noqa: PLR2004  # Unicode's last


def are_cjk(before: str, after: str) -> bool:
    """Tell whether a gap between two texts is no blank between words."""
    return bool(_CJK.match(before[-1:]) and _CJK.match(after[:1]))


def is_from_right(code: int) -> bool:
    """Tell letters that are written from right to left."""
    return code >= _FIRST_FROM_RIGHT and unicodedata.bidirectional(chr(code)) in {"R", "AL"}


def accented(accent: str, letter: str) -> str | None:
    """Give the letter with an accent that was drawn by itself, where it is one."""
    mark = _ACCENTS.get(accent)
    return unicodedata.normalize("NFC", letter[0] + mark + letter[1:]) if mark and letter.isalpha() else None


def written(parts: Sequence[str]) -> str:
    """Join letters; halves of a character of UTF-16 become the character."""
    text = "".join(parts)
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text


def plain_text(text: str) -> str:
    """Return PDFium's text of a page with letters as a reader sees them."""
    return text.replace("\r\n", "\n").translate(_LETTERS)


# Where a text object stands, how large it is, and what its font looks like.

_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
_BOLD = re.compile(r"bold|black|heavy|demi|[-,]bd\b|^(cm|sf|ec)(bx|b|ssbx|sx)\d", re.IGNORECASE)
_MONO = re.compile(
    r"mono|courier|consol|menlo|typewriter|^(cm|sf|ec)(sl|it|v)?tt\d|nimbusmon|txtt", re.IGNORECASE
)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_MIN_SIZE, _MAX_SIZE = 2, 300
DOWN = 3  # quarter turns of lines that run from top to bottom and follow each other from right to left


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
        self.font = PageFont()  # of the last style
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


# Raised and lowered digits next to a number: `10` with a small raised `6` is `10⁶`, not 106.
#
# Only digits that would join a number are treated. Reference marks after words, and letters, stay as they
# are.

_SMALLER = 0.85
_RAISED, _LOWERED = 0.2, 0.08  # of the font size: shifts of a baseline that are no accident of the layout
_BEGINS = re.compile(r"[-+−–]?\d")


class SizedText(NamedTuple):
    """Text with its place across the line."""

    text: str
    baseline: float
    size: float


def write_scripts(parts: Sequence[SizedText]) -> list[str]:
    """Return the texts of parts that follow each other closely, with raised and lowered digits marked."""
    texts = [part.text for part in parts]
    for at in range(1, len(parts)):
        before, part = parts[at - 1], parts[at]
        if not (before.text[-1:].isdigit() and _BEGINS.match(part.text)):
            continue
        if shift := _find_shift(part, before):
            texts[at] = _write(part.text, shift)
        elif texts[at - 1] == before.text and (shift := _find_shift(before, part)):
            texts[at - 1] = _write(before.text, shift)
    return texts


def _find_shift(part: SizedText, base: SizedText) -> float:
    """Return how far smaller text stands above its base, or 0 if it is no script of it."""
    shift = part.baseline - base.baseline
    is_script = shift > _RAISED * base.size or shift < -_LOWERED * base.size
    return shift if is_script and part.size < _SMALLER * base.size else 0


def _write(text: str, shift: float) -> str:
    return raise_text(text) if shift > 0 else lower_text(text)


# The objects of a page's content, also within forms.

MAX_OBJECTS = 50_000  # objects of a page to look at. Drawings of maps have more
_MAX_NESTED = 8
Box = tuple[float, float, float, float]  # left, bottom, right and top, in points


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """An image of PDFium's, with all that turns and moves it on its page."""

    handle: Any
    matrix: PdfMatrix

    @property
    def box(self) -> Box:
        """Where it is, as far as its matrix moves it."""
        return cast("Box", self.matrix.on_rect(0, 0, 1, 1))

    def on(self, page: pdfium.PdfPage) -> pdfium.PdfImage:
        """Return it for reading; without its page pypdfium2 would free it."""
        return pdfium.PdfImage(self.handle, page=page)

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height as the file tells them; none: 0."""
        width, height = ctypes.c_uint(), ctypes.c_uint()
        told = raw.FPDFImageObj_GetImagePixelSize(self.handle, width, height)
        return (width.value, height.value) if told else (0, 0)


@dataclass(slots=True)
class PageObjects:
    """The texts and images of a page, always in the same order."""

    texts: list[Any] = field(default_factory=list[Any])
    images: list[DrawnObject] = field(default_factory=list[DrawnObject])
    is_blank: bool = False


def list_objects(page: pdfium.PdfPage) -> PageObjects:
    """Return the texts and images of a page."""
    found = PageObjects(is_blank=not raw.FPDFPage_CountObjects(page.raw))
    items = _walk(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, PdfMatrix(), 0)
    for kind, item, matrix in islice(items, MAX_OBJECTS):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            found.texts.append(item)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            found.images.append(DrawnObject(item, matrix))
    return found


def list_form_texts(form: Any) -> list[Any]:
    """Return the text objects within a form object."""
    items = _walk(form, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, PdfMatrix(), 1)
    return [item for kind, item, _ in islice(items, MAX_OBJECTS) if kind == raw.FPDF_PAGEOBJ_TEXT]


def _walk(
    parent: Any, count: Callable[[Any], int], get: Callable[[Any, int], Any], outer: PdfMatrix, depth: int
) -> Iterator[tuple[int, Any, PdfMatrix]]:
    """PDFium is asked at once: a page may have thousands of letters and lines between two images."""
    for i in range(max(0, count(parent))):
        item = get(parent, i)
        kind = raw.FPDFPageObj_GetType(item) if item else raw.FPDF_PAGEOBJ_UNKNOWN
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_NESTED:
            inner = _read_matrix(item).multiply(outer)
            yield from _walk(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inner, depth + 1)
        matrix = _read_matrix(item).multiply(outer) if kind == raw.FPDF_PAGEOBJ_IMAGE else outer
        yield kind, item, matrix


def _read_matrix(item: Any) -> PdfMatrix:
    found = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, found)
    return PdfMatrix.from_raw(found)


def turn_box(box: Box, turn: int) -> Box:
    """Return a place as lines have theirs that are written with that many quarter turns."""
    left, bottom, right, top = box
    return (box, (bottom, -right, top, -left), (-right, -top, -left, -bottom), (-top, left, -bottom, right))[
        turn
    ]
