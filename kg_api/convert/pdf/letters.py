"""What a character code of a PDF stands for, and letters that are drawn as two."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

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
UNKNOWN = "\ufdd0"
"""Stands for a control code, which some font draws as a letter."""
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
