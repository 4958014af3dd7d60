"""Letters, fonts, and objects of a PDF page."""

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
LAST_CODE = 0x10FFFF  # of Unicode. PDFium may return larger codes
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
"""Codes of TeX encodings (OT1, T1, TS1), for files without a Unicode mapping."""
_HYPHENS = dict.fromkeys((0x02, 0xFFFE, 0x2010, 0x2011), "-")
_BULLETS = {
    0xF0B7: "•", 0xF0A7: "▪", 0xF076: "•", 0xF0D8: "▪", 0xF06C: "●", 0xF06E: "■", 0xF071: "❑", 0xF06F: "□",
    0xF0A8: "□", 0xF0FC: "✓", 0xF0FB: "✗", 0xF0FD: "☒", 0xF0FE: "☑", 0xF0E0: "→",
}  # fmt: skip
"""Codes of bullets in Symbol and Wingdings."""
_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF, 0xFFFF), "")
_LETTERS = _LIGATURES | _TEX | _HYPHENS | _BULLETS | _INVISIBLE
UNKNOWN = "\ufdd0"  # replaces a control code, which some fonts render as a letter
MEANINGLESS = frozenset((*range(0x20), *range(0x7F, 0xA0), *range(0xE000, 0xF900), 0xFFFD)) - _LETTERS.keys()
"""Codes without a letter in any script."""
_CJK = re.compile("[\u2e80-\u30ff\u3100-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]")
"""Scripts without spaces between words (Hangul has spaces)."""


@lru_cache(maxsize=8192)
def decode_letters(code: int) -> str:
    """Return the visible letters of a code: several for a ligature, and none for a control code."""
    return _LETTERS.get(code, chr(code) if _FIRST_PRINTED <= code <= LAST_CODE else "")


def are_cjk(before: str, after: str) -> bool:
    """Check if two adjacent texts are Chinese or Japanese, so that a gap between them is not a space."""
    return bool(_CJK.match(before[-1:]) and _CJK.match(after[:1]))


def is_from_right(code: int) -> bool:
    """Check if a letter belongs to a right-to-left script."""
    return _FIRST_FROM_RIGHT <= code <= LAST_CODE and unicodedata.bidirectional(chr(code)) in {"R", "AL"}


def combine_accent(accent: str, letter: str) -> str | None:
    """Return the letter combined with a separately drawn accent, or None."""
    combining = _ACCENTS.get(accent)
    if combining is None or not letter.isalpha():
        return None
    return unicodedata.normalize("NFC", letter[0] + combining + letter[1:])


def join_letters(parts: Sequence[str]) -> str:
    """Join letters, and combine UTF-16 surrogate pairs."""
    text = "".join(parts)
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text


def get_visible_text(text: str) -> str:
    """Convert the text that PDFium returns for a page to visible letters."""
    return text.replace("\r\n", "\n").translate(_LETTERS)


# Position, size, and style of text objects

_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
_BOLD = re.compile(r"bold|black|heavy|demi|[-,]bd\b|^(cm|sf|ec)(bx|b|ssbx|sx)\d", re.IGNORECASE)
_MONO = re.compile(
    r"mono|courier|consol|menlo|typewriter|^(cm|sf|ec)(sl|it|v)?tt\d|nimbusmon|txtt", re.IGNORECASE
)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_MIN_SIZE, _MAX_SIZE = 2, 300
DOWN = 3  # quarter turns of vertical text, with lines from right to left


class Style(NamedTuple):
    """Properties of the letters of a text object. `turn` counts counter-clockwise quarter turns."""

    turn: int = 0
    baseline: float = 0
    size: float = 0
    bold: bool = False
    mono: bool = False


@dataclass(slots=True)
class PageFont:
    bold: bool = False
    mono: bool = False
    unchecked: int = 32
    """Characters to check for a Unicode map. PDFium needs 1 µs for each, so kg does not check all."""


class Styles:
    """Styles of a page's text objects, with a cache of fonts."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._fonts: dict[int, PageFont] = {}
        self.font = PageFont()  # font of the last style
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()

    def get_style(self, text_object: Any, i: int) -> Style:
        """Return the style of a text object, given the index of its first letter."""
        size, matrix = self.get_size(i), self._matrix
        turn = _compute_turn(matrix.a, matrix.b)
        if not _MIN_SIZE < size < _MAX_SIZE:  # Type 3 fonts have their own units
            raw.FPDFText_GetLooseCharBox(self._page, i, self._box)
            size = max(1.0, abs(self._box.top - self._box.bottom))
        baseline = (matrix.f, -matrix.e, -matrix.f, matrix.e)[turn]
        self.font = self._get_font(text_object)
        return Style(turn, baseline, round(size, 1), self.font.bold, self.font.mono)

    def get_size(self, i: int) -> float:
        raw.FPDFText_GetMatrix(self._page, i, self._matrix)
        size: float = raw.FPDFText_GetFontSize(self._page, i)
        return size * (self._matrix.c**2 + self._matrix.d**2) ** 0.5

    def get_turn(self, i: int) -> int:
        """Return the quarter turns of a letter."""
        raw.FPDFText_GetMatrix(self._page, i, self._matrix)
        return _compute_turn(self._matrix.a, self._matrix.b)

    def get_vertical_style(self, style: Style, i: int) -> Style:
        """Return the style for a text object with vertically stacked letters."""
        raw.FPDFText_GetMatrix(self._page, i, self._matrix)
        return style._replace(turn=DOWN, baseline=self._matrix.e)

    def _get_font(self, text_object: Any) -> PageFont:
        font = raw.FPDFTextObj_GetFont(text_object)
        if not font:
            return PageFont()
        address = ctypes.addressof(font.contents)
        if address not in self._fonts:
            self._fonts[address] = PageFont(*_classify_font(font))
        return self._fonts[address]


def get_extent(turn: int, box: Any) -> tuple[float, float]:
    """Return start and end of a letter in the direction of its line."""
    if turn == 0:
        return box.left, box.right
    low, high = (box.bottom, box.top) if turn in {1, 3} else (box.left, box.right)
    return (low, high) if turn == 1 else (-high, -low)


def _compute_turn(a: float, b: float) -> int:
    if abs(a) >= abs(b):
        return 0 if a >= 0 else 2
    return 1 if b > 0 else 3


def _classify_font(font: Any) -> tuple[bool, bool]:
    """Return whether a font is bold and monospace, mainly by name because PDFium's weights are unreliable."""
    buffer = ctypes.create_string_buffer(200)
    raw.FPDFFont_GetBaseFontName(font, buffer, 200)
    name = _SUBSET.sub("", buffer.value.decode("latin-1"))
    flags = max(0, raw.FPDFFont_GetFlags(font))
    return bool(_BOLD.search(name) or flags & _FORCE_BOLD), bool(_MONO.search(name) or flags & _FIXED_PITCH)


# Superscript and subscript digits next to a number: `10` with a small raised `6` is `10⁶`, not 106
#
# Other characters do not change, for example letters, and reference marks after words.

_MAX_SCRIPT_SIZE = 0.85
_RAISED, _LOWERED = 0.2, 0.08  # minimum shifts of the baseline, relative to the font size
_NUMBER_START = re.compile(r"[-+−–]?\d")


class SizedText(NamedTuple):
    text: str
    baseline: float
    size: float


def write_scripts(parts: Sequence[SizedText]) -> list[str]:
    """Return the texts of adjacent parts, with superscript and subscript digits as Unicode characters."""
    texts = [part.text for part in parts]
    for at in range(1, len(parts)):
        before, part = parts[at - 1], parts[at]
        if not (before.text[-1:].isdigit() and _NUMBER_START.match(part.text)):
            continue
        if shift := _find_shift(part, before):
            texts[at] = _shift_text(part.text, shift)
        elif texts[at - 1] == before.text and (shift := _find_shift(before, part)):
            texts[at - 1] = _shift_text(before.text, shift)
    return texts


def _find_shift(part: SizedText, base: SizedText) -> float:
    """Return the shift of a superscript or subscript from its base, or 0 for other parts."""
    shift = part.baseline - base.baseline
    is_script = shift > _RAISED * base.size or shift < -_LOWERED * base.size
    return shift if is_script and part.size < _MAX_SCRIPT_SIZE * base.size else 0


def _shift_text(text: str, shift: float) -> str:
    return raise_text(text) if shift > 0 else lower_text(text)


# Objects in page content and forms

MAX_OBJECTS = 50_000  # objects per page to read (maps have more)
_MAX_NESTED = 8
_PLACED = frozenset({raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH})
Box = tuple[float, float, float, float]  # left, bottom, right and top, in points


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """PDFium image object with its complete transformation."""

    handle: Any
    matrix: PdfMatrix

    @property
    def box(self) -> Box:
        """Bounding box after the transformation."""
        return cast("Box", self.matrix.on_rect(0, 0, 1, 1))

    def get_image(self, page: pdfium.PdfPage) -> pdfium.PdfImage:
        """Return the image. Pass its page, because otherwise pypdfium2 would free the object."""
        return pdfium.PdfImage(self.handle, page=page)

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height in the file (0: unknown)."""
        width, height = ctypes.c_uint(), ctypes.c_uint()
        ok = raw.FPDFImageObj_GetImagePixelSize(self.handle, width, height)
        return (width.value, height.value) if ok else (0, 0)


@dataclass(slots=True)
class PageObjects:
    """Texts, images, and lines of a page in a stable order."""

    texts: list[Any] = field(default_factory=list[Any])
    images: list[DrawnObject] = field(default_factory=list[DrawnObject])
    paths: list[tuple[Any, PdfMatrix]] = field(default_factory=list[tuple[Any, PdfMatrix]])
    is_blank: bool = False


def list_objects(page: pdfium.PdfPage) -> PageObjects:
    objects = PageObjects(is_blank=not raw.FPDFPage_CountObjects(page.raw))
    items = _walk(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, PdfMatrix(), 0)
    for object_type, item, matrix in islice(items, MAX_OBJECTS):
        if object_type == raw.FPDF_PAGEOBJ_TEXT:
            objects.texts.append(item)
        elif object_type == raw.FPDF_PAGEOBJ_IMAGE:
            objects.images.append(DrawnObject(item, matrix))
        elif object_type == raw.FPDF_PAGEOBJ_PATH:
            objects.paths.append((item, matrix))
    return objects


def _walk(
    parent: Any, count: Callable[[Any], int], get: Callable[[Any, int], Any], outer: PdfMatrix, depth: int
) -> Iterator[tuple[int, Any, PdfMatrix]]:
    """Yield objects with their transformation. Direct PDFium calls are faster for thousands of objects."""
    for i in range(max(0, count(parent))):
        item = get(parent, i)
        object_type = raw.FPDFPageObj_GetType(item) if item else raw.FPDF_PAGEOBJ_UNKNOWN
        if object_type == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_NESTED:
            inner = _read_matrix(item).multiply(outer)
            yield from _walk(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inner, depth + 1)
        matrix = _read_matrix(item).multiply(outer) if object_type in _PLACED else outer
        yield object_type, item, matrix


def _read_matrix(item: Any) -> PdfMatrix:
    matrix = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, matrix)
    return PdfMatrix.from_raw(matrix)


def mirror_box(box: Box) -> Box:
    return -box[2], box[1], -box[0], box[3]


def turn_box(box: Box, turn: int) -> Box:
    """Return a box in the coordinates of lines that are turned by `turn` quarters."""
    left, bottom, right, top = box
    return (box, (bottom, -right, top, -left), (-right, -top, -left, -bottom), (-top, left, -bottom, right))[
        turn
    ]
