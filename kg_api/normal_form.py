"""Normalization of texts and queries for full-text search."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_NUMBER: Final = "¼-¾⅐-⅟↉①-⒛⓪㉈-㉏㉑-㉟㊱-㊿\U0001f100-\U0001f10a"
"""Fractions and enclosed numbers. Next to a digit, each is a separate number."""
_POWER: Final = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹⁺⁻ʰ-ʸˠ-ˤᴬ-ᵡᶛ-ᶿⁱⁿⱽ])")
_APART: Final = re.compile(rf"(?<=\d)(?=[₀-₉])|(?<=[\d{_NUMBER}])(?=[{_NUMBER}])|(?<=[{_NUMBER}])(?=\d)")
_GLUED: Final = re.compile("[№™℠]")
"""Signs that NFKC would join to the next word."""
_VOWELS: Final = re.compile("\u0e4d([\u0e48-\u0e4b]?)\u0e32|\u0ecd([\u0ec8-\u0ecb]?)\u0eb2")
"""Vowels of Thai and Lao that NFKC decomposes, with a tone mark. Users type one character."""
_DIGITS: Final = re.compile(r"\d+")
_FORMATS: Final = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001-\U000e01ef"
)
"""Invisible characters and variation selectors, without the zero-width space, which separates words."""
_HEBREW: Final = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_ARABIC: Final = (
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0898-\u089f\u08ca-\u08e1"
    "\u08e3-\u08ff"
)
"""Vowel signs, tatweel, and Quranic signs."""
ARMENIAN: Final = "\u055b\u055c\u055e"
"""Signs for emphasis, exclamation, and question, which stand after a vowel within the word."""
_UNSAID: Final = re.compile(f"[{_FORMATS}{_HEBREW}{_ARABIC}{ARMENIAN}]+")
_SIGNS: Final = str.maketrans("٫٬⁄", ".,/")
_LETTERS: Final = str.maketrans("أإآٱىیےکةۀہ", "ااااييي" + "كههه")
"""Letters that Lucene's Arabic and Persian analyzers fold."""


def normalise_width(text: str) -> str:
    """Return the text in NFKC with ASCII digits. Superscripts keep their meaning: `10⁶` becomes `10^6`."""
    if text.isascii():
        return text
    return _DIGITS.sub(_to_ascii, _compose(text))


def normalise_text(text: str) -> str:
    """Return the text for comparisons: `normalise_width` without vowel signs and invisible characters."""
    if text.isascii():
        return text
    visible = _UNSAID.sub("", normalise_width(text)).translate(_SIGNS)
    return _join_vowels(unicodedata.normalize("NFC", visible))


def fold_letters(text: str) -> str:
    """Replace letters that Arabic, Persian, and Urdu keyboards interchange by one of them."""
    return text if text.isascii() else text.translate(_LETTERS)


def _compose(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        return text
    signs = _GLUED.sub(lambda found: " No " if found[0] == "№" else " ", text)
    apart = _APART.sub(" ", _POWER.sub("^", signs))
    return _join_vowels(unicodedata.normalize("NFKC", apart))


def _join_vowels(text: str) -> str:
    return _VOWELS.sub(lambda found: f"{found[2]}\u0eb3" if found[1] is None else f"{found[1]}\u0e33", text)


def _to_ascii(found: re.Match[str]) -> str:
    digits = found[0]
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(each)) for each in digits)
