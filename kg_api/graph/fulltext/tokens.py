"""The words that a reader sees and the index's analyzer does not tell apart: indexed beside the text.

So is the normal form of words that are written otherwise (kg_api.wording.normal_form), as it is asked for.

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
from functools import lru_cache

from kg_api.wording.normal_form import fold_letters, normalise_text


def _class_of(categories: Container[str]) -> str:
    """The characters of some categories for a class in a pattern, as ranges, which are quick."""
    planes = (*range(0x80, 0x20000), *range(0xE0000, 0xE0200))
    found = [at for at in planes if unicodedata.category(chr(at)) in categories and at != ord("\u200b")]
    ends = [at for at, following in zip(found, [*found[1:], -1], strict=True) if following != at + 1]
    firsts = [at for at, before in zip(found, [-1, *found], strict=False) if before != at - 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, ends, strict=True))


EXTENDING = _class_of({"Mn", "Mc", "Me", "Cf"})
"""Marks and format characters: they belong to the character on their left and never end a word."""
SYMBOLS = "".join(
    chr(code)
    for code in (*range(0x2100, 0x2150), *range(0x3200, 0x3400), *range(0x1F100, 0x1F300))
    if not chr(code).isalnum() and any(map(str.isalnum, normalise_text(chr(code))))
)
"""Signs such as ㎏, ℃ and ㈱: words to a reader, which the analyzer leaves out."""
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
SINGLE = "\u3005\u3007\u3041-\u3098\u309b-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, which the analyzer takes apart character by character.

The sound marks \u3099 and \u309a belong to the kana before them, from which file systems part them.
"""
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


_ANY_RUN = _run(rf"[\w{EXTENDING}{_GLUE}{SYMBOLS}]+")
_ASCII_RUN = _run(r"\w+")
LATIN = "a-zA-Z\u00aa-\u03ff\u1e00-\u1fff"
"""Letters that codes and units are made of, Latin and Greek: next to a digit, they belong to its word."""
_OTHER_LETTER = rf"[^\W\d_{LATIN}\u2100-\u2bff\ua720-\ua7ff\u30a0-\u30ff{SINGLE}]"
"""Another letter begins another word there. The analyzer itself parts Chinese and Japanese from digits."""
_TURN = rf"(?<=\d)(?={_OTHER_LETTER})|(?<={_OTHER_LETTER})(?=\d)|(?<={_OTHER_LETTER}[{EXTENDING}])(?=\d)"
_BETWEEN_PARTS = re.compile(rf"[^\w{EXTENDING}]+|_+|{_TURN}")
TURNS = re.compile(_TURN)
PIECES = re.compile(f"[{SINGLE}][{EXTENDING}]*|[^{SINGLE}]+")
_POSSESSIVE = re.compile(r"[^\W_]+['’＇][sS]")
_WITHOUT_TOKEN = re.compile(rf"[{_class_of({'No'})}{_UNKNOWN}]")
"""Numbers that are no digits, and unknown letters."""
KNOWN_WORDS = 65_536
MAX_NUMBER = 16
"""Characters of a number that is indexed with its unit."""
_UNIT = r"[a-zA-Z\u00b5\u0370-\u03ff]{1,5}\d?"
_IS_UNIT = re.compile(_UNIT)
_UNIT_BEHIND = re.compile(rf"\s{_UNIT}(?!\w)")
_NUMBER_BEFORE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*\s\Z")
_SCOPE = re.compile(r"kg[oda][0-9a-f]{16}", re.IGNORECASE)


def runs(text: str) -> Iterator[re.Match[str]]:
    """What the analyzer may take for one token, or more."""
    return (_ASCII_RUN if text.isascii() else _ANY_RUN).finditer(text)


@lru_cache(KNOWN_WORDS)
def parts(word: str) -> str:
    """The parts of a word in normal form, as they are indexed and asked for, a blank between them.

    Punctuation parts a word, and so do digits next to letters other than Latin ones: `2022년`.
    """
    normal = fold_letters(normalise_text(word))
    return " ".join(_token(part) for part in _BETWEEN_PARTS.split(normal) if _says(part))


def find_hidden_parts(texts: Iterable[str]) -> list[str]:
    """What a reader can see in some texts and the analyzer does not find in them, word by word, each once."""
    return [*dict.fromkeys(found for text in texts for found in _find_hidden(text))]


def _find_hidden(text: str) -> Iterator[str]:
    if fold_letters(normalise_text(text)) != text or _WITHOUT_TOKEN.search(text):
        yield from _find_written_otherwise(text)
        return
    has_turns = not text.isascii() and TURNS.search(text) is not None
    for run in (found[0] for found in runs(text)):
        if run.isalnum() and not _SCOPE.match(run) and not (has_turns and TURNS.search(run)):
            continue
        seen = parts(run)
        if seen and run != seen:  # the analyzer takes `'s` away itself, so that only the `s` is missing
            yield seen.rpartition(" ")[2] if _POSSESSIVE.fullmatch(run) else seen


def _find_written_otherwise(text: str) -> Iterator[str]:
    """The hidden parts of a text that is not in normal form.

    A number and its unit stay together, for they are asked for as a phrase: `٥ kg` and `5 ㎏`.
    """
    for run in runs(text):
        for piece in PIECES.finditer(run[0]):
            seen = parts(piece[0])
            if not seen or piece[0] == seen:
                continue
            start, end = run.start() + piece.start(), run.start() + piece.end()
            if piece[0].isdecimal() and (unit := _UNIT_BEHIND.match(text, end)):
                yield f"{seen} {parts(unit[0])}"
            elif _IS_UNIT.fullmatch(seen) and (
                number := _NUMBER_BEFORE.search(text[max(0, start - MAX_NUMBER) : start])
            ):
                yield f"{parts(number[0])} {seen}"
            else:
                yield seen


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
