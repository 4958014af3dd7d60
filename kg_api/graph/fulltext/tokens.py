"""The words that a reader sees and the index's analyzer does not tell apart: indexed beside the text.

Neo4j's `english` analyzer cuts by the rules of Unicode (UAX #29, version 12.1): `title:secret`, `1,000`,
`x·y`, `l'homme` and `snake_case` are one token each, a soft hyphen stays within its word, and `½` is none.
None of them can be asked for by its parts. What each character does was measured with that analyzer; to take
one for a character that joins costs some bytes, to miss one costs a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from fractions import Fraction


def _class_of(categories: Container[str]) -> str:
    """The characters of some categories for a class in a pattern, as ranges, which are quick."""
    planes = (*range(0x80, 0x20000), *range(0xE0000, 0xE0200))
    found = [at for at in planes if unicodedata.category(chr(at)) in categories and at != ord("\u200b")]
    ends = [at for at, following in zip(found, [*found[1:], -1], strict=True) if following != at + 1]
    firsts = [at for at, before in zip(found, [-1, *found], strict=False) if before != at - 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, ends, strict=True))


EXTENDING = _class_of({"Mn", "Mc", "Me", "Cf"})
"""Marks and format characters: they belong to the character on their left and never end a word."""
_FORMAT = _class_of({"Cf"})
_GLUE = (
    r"_\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02ed\u02ef-\u02ff\u055b\u055c\u055e\u05f3\u066b\u202f\u203f\u2040"
    r"\u2054\u24b6-\u24e9\ua720\ua721\ua789\ua78a\uab5b\ufe33\ufe34\ufe4d-\ufe4f\uff3f\U0001f130-\U0001f189"
    r"\U0001f3fb-\U0001f3ff\u109e\u109f\u19de\u19df\u1aa0-\u1aa6\u1aa8-\u1aad\u309b\u309c\u30a0\u32d0-\u32fe\u3300-\u3357"
    r"\uaa77-\uaa79\uaade\uaadf\U0001173f"
)
"""Signs that stay with the word beside them, even at its end."""
_BETWEEN_LETTERS = "'.:\u00b7\u0387\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_BETWEEN_DIGITS = (
    "',.;\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe10\ufe14\ufe50\ufe52\ufe54"
    "\uff07\uff0c\uff0e\uff1b"
)
SINGLE = "\u3005\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, which the analyzer takes apart character by character."""
_HEBREW = r"\u05d0-\u05f2"
_UNKNOWN = (
    r"\u0870-\u088e\u08b5\u08be-\u08c9\u0c5d\u0cdd\u0d04\u170d\u171f\u1b4c\u2c2f\u2c5f\u3006\u31bb-\u31bf"
    r"\u4db6-\u4dbf\u9ff0-\u9fff\ua7c0\ua7c1\ua7c7-\ua7f4\uab68\U00010570-\U000105bc\U00010780"
    r"\U00010e80-\U00010eb1\U00010f70-\U00010fc4\U00011071-\U00011075\U00011147\U00011460\U00011461"
    r"\U00011740-\U00011746\U00011900-\U00011959\U00011ab0-\U00011abf\U00011fb0\U00012f90-\U00012ff0"
    r"\U00016a70-\U00016ac9\U00017000-\U0001affe\U0001b11f-\U0001b122\U0001b170-\U0001b2fb"
    r"\U0001df00-\U0001df1e\U0001e290-\U0001e2ad\U0001e7e0-\U0001e7fe\U0002a6d7-\U0002a6df"
    r"\U0002b735-\U0002b738\U00030000-\U000323af"
)
"""Letters that are younger than the analyzer's Unicode: it leaves them out."""


def _run(piece: str) -> re.Pattern[str]:
    joint = (
        rf"(?:(?<![\d{SINGLE}])[{_BETWEEN_LETTERS}](?![\d{SINGLE}])|(?<![^\W\d_])[{_BETWEEN_DIGITS}](?![^\W\d_])"
        rf'|(?<=[{_HEBREW}])"(?=[{_HEBREW}]))'
    )
    return re.compile(rf"{piece}(?:{joint}{piece})*(?:(?<=[{_HEBREW}])')?")


_ANY_RUN = _run(rf"[\w{EXTENDING}{_GLUE}]+")
_ASCII_RUN = _run(r"\w+")
_BETWEEN_PARTS = re.compile(rf"[^\w{EXTENDING}]+|_+")
_FORMATS = re.compile(rf"[{_FORMAT}]+")
_POSSESSIVE = re.compile(r"[^\W_]+['’＇][sS]")
_WITHOUT_TOKEN = re.compile(rf"[{_class_of({'No'})}{_UNKNOWN}]")
"""Numbers that are no digits, and unknown letters."""
_COMPOSED = re.compile("[^\u0e33\u0eb3]+")
"""All but two vowels of Thai and Lao, which NFKC takes apart and everybody writes as one."""
_SCOPE = re.compile(r"kg[od][0-9a-f]{16}", re.IGNORECASE)


def runs(text: str) -> Iterator[re.Match[str]]:
    """What the analyzer may take for one token, or more."""
    return (_ASCII_RUN if text.isascii() else _ANY_RUN).finditer(text)


def parts(word: str) -> str:
    """The parts of a word between punctuation, as they are indexed and asked for, a blank between them.

    Characters are taken for what they mean: a ligature for its letters, a digit in a circle for the digit.
    """
    visible = (_FORMATS.sub("", part) for part in _BETWEEN_PARTS.split(word))
    plain = _COMPOSED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), " ".join(visible))
    return " ".join(_token(part) for part in _BETWEEN_PARTS.split(plain) if _says(part))


def find_hidden_parts(texts: Iterable[str]) -> list[str]:
    """What a reader can see in some texts and the analyzer does not find in them, word by word, each once."""
    return [*dict.fromkeys(found for text in texts for found in _find_hidden(text))]


def _find_hidden(text: str) -> Iterator[str]:
    """The analyzer takes `'s` away itself, so that only the `s` is missing."""
    is_plain = unicodedata.is_normalized("NFKC", text) and not _WITHOUT_TOKEN.search(text)
    for run in (found[0] for found in runs(text)):
        if is_plain and run.isalnum() and not _SCOPE.match(run):
            continue
        seen = parts(run)
        if seen and run not in {seen, unicodedata.normalize("NFD", seen)}:
            yield seen.rpartition(" ")[2] if is_plain and _POSSESSIVE.fullmatch(run) else seen


def _says(part: str) -> bool:
    return any(character.isalnum() for character in part)


def _token(part: str) -> str:
    """A part that the analyzer takes, and never for the token of a scope, which filters are made of."""
    known = "".join(_known(character) for character in part)
    return f"x{known}" if _SCOPE.match(known) else known


def _known(character: str) -> str:
    if unicodedata.category(character) == "No":
        return f"{Fraction(unicodedata.numeric(character)).limit_denominator(1000)}".replace("/", "_")
    return f"u{ord(character):x}" if _WITHOUT_TOKEN.match(character) else character
