"""Words that no text has, and those of the texts that may be meant: typos, other accents. Pure.

Lucene finds the texts (fuzzy queries ask for what is indexed, which are stems); which of their words is meant
is told by the words as they stand, so that an answer can name them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain, takewhile

from rapidfuzz.distance import OSA

from kg_api.graph.fulltext.stemming import stem
from kg_api.wording.normal_form import normalise_text

MIN_WORD = 3
"""Characters of a word that is looked for otherwise: of three, only its accents are."""
MIN_TYPO = 4
MIN_SUBSTITUTED = 6
"""Below it no letter stands for another: of `hope` nobody means `home`..."""
LONG_WORD = 8
"""From here on a word may differ by two letters..."""
MIN_SHARED = 3
"""... and then begins with these the same."""
MIN_PREFIXED = 9
ENDING = 5
"""Letters that stemming may take away: the index has `configur` of `configuration`."""
MAX_MEANT = 3
"""Words that take the place of one."""

_MARKS = re.compile("[\u0300-\u036f]+")
"""Accents. Vowel signs of Hindi and Thai are letters to a reader; those of Hebrew and Arabic are gone."""
_OTHERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_WORDS = re.compile(r"[^\W\d_]+")


def fold(word: str) -> str:
    """A word without case and accents: `Kürbis` and `Kurbis` are one, `ß` is `ss`."""
    plain = _MARKS.sub("", unicodedata.normalize("NFD", normalise_text(word).casefold()))
    return unicodedata.normalize("NFC", plain.translate(_OTHERS))


def may_be_misspelt(word: str) -> bool:
    """Whether a word is looked for otherwise: numbers and names with signs are meant as they are."""
    return len(word) >= MIN_WORD and unicodedata.normalize("NFC", word).isalpha()


def most_edits(word: str) -> int:
    """Letters in which a word that is meant may differ, besides its accents."""
    return 0 if len(word) < MIN_TYPO else 1 if len(word) < LONG_WORD else 2


@cache
def _accented() -> dict[int, str]:
    """By a Latin or Greek letter: a class of Lucene's regular expressions with all its accented forms."""
    letters = map(chr, chain(range(0xC0, 0x250), range(0x370, 0x400), range(0x1E00, 0x2000)))
    forms: dict[str, str] = {}
    for each in filter(str.islower, letters):
        if (plain := fold(each)) != each and len(plain) == 1:
            forms[plain] = forms.get(plain, plain) + each
    return str.maketrans({plain: f"[{several}]" for plain, several in forms.items()})


def fuzzy_clauses(word: str) -> str:
    """Lucene's clauses for texts with a word like it; only letters are in it, so nothing is to be escaped.

    Accents count as letters to Lucene: a regular expression finds a word with any number of others.
    """
    lower = unicodedata.normalize("NFC", word).lower()
    plain = fold(lower)
    stemmed = stem(plain, "english")
    letters = [each for each in dict.fromkeys([lower, plain, stemmed]) if each.isalpha()]
    clauses = [f"{each}~{max(1, most_edits(each))}" for each in letters]
    clauses += [f"/{each.translate(_accented())}/" for each in letters if each in {plain, stemmed}]
    if len(lower) >= MIN_PREFIXED:
        clauses.append(f"{lower[:-ENDING]}*")
    return " ".join(clauses)


def meant_by(word: str, texts: Iterable[str]) -> list[str]:
    """Words of some texts that may be meant by one that none has: the nearest, of those the most frequent.

    What differs by its accents only is nearest, then what begins alike.
    """
    wanted, written = fold(word), word.lower()
    counts = Counter(said for said in chain.from_iterable(map(words_in, texts)) if said.lower() != written)
    ranks = {said: _distance(wanted, fold(said)) for said in counts}
    near = [(rank, -counts[said], said) for said, rank in ranks.items() if rank is not None]
    best = min((rank for rank, _, _ in near), default=None)
    once: dict[str, str] = {}
    for _, _, said in sorted(each for each in near if each[0] == best):
        once.setdefault(said.lower(), said)
    return [*once.values()][:MAX_MEANT]


def _distance(wanted: str, said: str) -> tuple[int, int] | None:
    """Edits, and letters at the beginning that are not shared; None: that is not meant.

    The first letter is right: people rarely miss that one.
    """
    most = most_edits(wanted)
    edits = OSA.distance(wanted, said, score_cutoff=most)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(wanted, said, strict=False)))
    if edits > most or not shared or (edits > 1 and shared < MIN_SHARED):
        return None
    if edits and len(wanted) < MIN_SUBSTITUTED and _substitutes(wanted, said):
        return None
    return edits, len(wanted) - shared


def _substitutes(wanted: str, said: str) -> bool:
    """Whether a letter stands for another, where two have not only changed places."""
    return len(wanted) == len(said) and sorted(wanted) != sorted(said)


def words_in(text: str) -> list[str]:
    """Its words as they are written, composed; numbers and signs are none."""
    return _WORDS.findall(unicodedata.normalize("NFC", text))
