"""Whether two labels are spellings of one name. Pure.

Names of two things often differ by one letter, and no vector tells them apart; so only changes are known here
that hardly ever change what is meant. Nothing is said of numbers, and of words that look like code: they are
the same or they differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

Spelling = Literal["mark", "plural", "plural of one word", "order", "hyphen", "acronym", "acronym alone"]
"""What differs: accents, points, apostrophes, articles, number words or the order of a date (`mark`); a
plural; "X of Y" and "Y X"; a hyphen; an acronym among other words, or alone."""

LABELS: Final = 4096
"""So many are remembered as they are read: each of a batch is compared with those near to it."""
_WORD = re.compile(r"[^\W_]+(?:[.,:/'-][^\W_]+)*[+#]*")
_POINTS = re.compile(r"\b(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?")
_QUIET = frozenset(" .,;:?'\"()[]&/-")
_DIAERESIS: Final = "\u0308"
"""Tells words apart in German."""
_ARTICLE: Final = "the"
_PASSED_OVER = frozenset({"of", "the", "and", "for", "in", "on"})
_MONTHS = """
    january february march april may june july august september october november december
""".split()  # noqa: SIM905 - words, not punctuation
_CARDINALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
""".split()  # noqa: SIM905
_ORDINALS = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""".split()  # noqa: SIM905
_OTHER_THINGS = """
    arms authorities brains contents customs damages financials forces glasses goods grounds lines looks
    manners means minutes news premises regards remains savings securities spectacles spirits terms thanks
    waters works
""".split()  # noqa: SIM905
"""Plurals that mean something else than several of it."""
_SHORT_FOR_IS = {
    f"{word}'s" for word in ("he", "here", "how", "it", "let", "she", "that", "there", "what", "where", "who")
}
_BRITISH = (
    (re.compile(r"(?<=...)our(?=(?:s|al|ful|able|ites?)?$)"), "or"),
    (re.compile(r"(?<=....)is(?=(?:e|es|ed|ing|ations?|ers?)$)"), "iz"),
)
"""Behind so many letters that no other word is meant, as with poured and pored, prise and prize."""


@lru_cache(LABELS)
def words(label: str) -> tuple[str, ...]:
    """The words of a label: abbreviations without their points; 3.10 is one word, and so is "non-zero"."""
    text = unicodedata.normalize("NFKC", label).replace("\u2019", "'").replace("&", " and ")
    text = re.sub(r"[\u2010-\u2015]", "-", text)
    return tuple(_WORD.findall(_POINTS.sub(lambda found: found[0].replace(".", ""), text)))


def alike(one: str, other: str) -> Spelling | None:
    """How two labels differ, if they are spellings of one name."""
    if _symbols(one) != _symbols(other):
        return None
    a, b = words(one), words(other)
    split = _parts(a), _parts(b)
    return (
        _align(*split) or _dates(*split) or _match_turned(a, b) or _match_turned(b, a) or _match_joined(a, b)
    ) or _acronym(*split)


@lru_cache(LABELS)
def _symbols(label: str) -> Counter[str]:
    folded = unicodedata.normalize("NFKC", label).replace("\u2019", "'")
    folded = re.sub(r"[\u2010-\u2015]", "-", folded)
    return Counter(each for each in folded if not each.isalnum() and each not in _QUIET)


@lru_cache(LABELS)
def _parts(whole: tuple[str, ...]) -> tuple[str, ...]:
    """Words with hyphens as several."""
    return tuple(part for word in whole for part in word.split("-"))


def _align(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Word for word; articles may be missing where what follows is written alike."""
    bare = _bare(a), _bare(b)
    if len(bare[0]) != len(bare[1]) or not bare[0]:
        return None
    kinds = {_pair(*pair) for pair in zip(*bare, strict=True)}
    if None in kinds or not _articles_fit(a, b):
        return None
    if "plural" not in kinds:
        return "mark"
    return _plural(*bare)


def _bare(whole: Sequence[str]) -> list[str]:
    return [word for word in whole if word.casefold() != _ARTICLE]


def _articles_fit(a: Sequence[str], b: Sequence[str]) -> bool:
    """A name of one word and an article, such as "The Doors", is not the word without it."""
    return len(a) == len(b) or len(_bare(a)) > 1


def _pair(p: str, q: str) -> Literal["same", "mark", "plural"] | None:
    one, other = p.casefold(), q.casefold()
    if one == other:
        return "same"
    if _number(one) == _number(other) or _apostrophe(p, q) or _accents(p, q):
        return "mark"
    if not (_is_plain(p) and _is_plain(q)):
        return None
    if _american(one) == _american(other):
        return "mark"
    return "plural" if other in _singulars(one) or one in _singulars(other) else None


def _is_plain(word: str) -> bool:
    """Of ASCII letters, written as a word is, not as code."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _number(word: str) -> str:
    if word in _CARDINALS:
        return str(_CARDINALS.index(word))
    if word in _ORDINALS:
        return f"{_ORDINALS.index(word) + 1}th"
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "th", word)


def _apostrophe(p: str, q: str) -> bool:
    """A possessive, or the apostrophe alone; the 80's are not 80, nor is "here's" here."""
    one, other = p.casefold(), q.casefold()
    bare = one.replace("'", ""), other.replace("'", "")
    if "'" not in one + other or not all(map(str.isalpha, bare)) or {one, other} & _SHORT_FOR_IS:
        return False
    return (bare[0] == bare[1] and p[0].isupper() == q[0].isupper()) or _owner(one) == _owner(other)


def _owner(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")


def _accents(p: str, q: str) -> bool:
    """A name that was written without its accents; in other words than names they change what is meant."""
    one, other = (unicodedata.normalize("NFD", each.casefold()) for each in (p, q))
    bare = [re.sub(r"[\u0300-\u036f]", "", each) for each in (one, other)]
    named = p[:1].isupper() and q[:1].isupper()
    one_is_bare = bare[0] in (one, other) and _DIAERESIS not in one + other
    return named and bare[0] == bare[1] and bare[0].isascii() and one_is_bare


def _american(word: str) -> str:
    for british, american in _BRITISH:
        word = british.sub(american, word)
    return word


def _singulars(word: str) -> Iterator[str]:
    """What a word may be the plural of; http is not the singular of https."""
    if word in _OTHER_THINGS or word.endswith("ics"):
        return
    if word.endswith("ies") and len(word) > len("ties"):
        yield f"{word[:-3]}y"
    if re.search("(?:ss|sh|ch|x|z)es$", word):
        yield word[:-2]
    if len(word) > len("pis") and re.search("[aeiouy].*[^sui]s$", word):
        yield word[:-1]


def _plural(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """Names have no plural: "Peters" is not "Peter", nor is the "Windows API" one of windows."""
    if len(a) == 1:
        return "plural of one word" if (a[0] + b[0]).islower() else None
    pairs = [pair for pair in zip(a, b, strict=True) if _pair(*pair) == "plural"]
    titles = [p for p, q in zip(a, b, strict=True) if p[0].isupper() != q[0].isupper()]
    common = len(titles) > 1 or all(p[0].islower() and q[0].islower() for p, q in pairs)
    return "plural" if common and not any(p[0].isupper() and q[0].isupper() for p, q in pairs) else None


def _dates(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """The parts of a date may stand in any order."""
    one, other = ([_number(word.casefold()).removesuffix("th") for word in each] for each in (a, b))
    is_date = all(word in _MONTHS or word.isdecimal() for word in one) and any(map(_MONTHS.__contains__, one))
    return "mark" if is_date and sorted(one) == sorted(other) else None


def _match_turned(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """The first is "X of Y", and the second "Y X"."""
    lower = [word.casefold() for word in a]
    if lower.count("of") != 1 or "of" in (word.casefold() for word in b):
        return None
    at = lower.index("of")
    turned = [*_bare(a[at + 1 :]), *_bare(a[:at])]
    fits = 0 < at < len(a) - 1 and _align(turned, b) is not None
    return "order" if fits and len(turned) == len(b) else None


def _match_joined(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """A word that one writes with a hyphen, and the other without."""
    one, other = (["".join(word.casefold().split("-")) for word in each] for each in (a, b))
    differ = [pair for pair in zip(a, b, strict=False) if pair[0].casefold() != pair[1].casefold()]
    plain = all(_is_plain(word.replace("-", "").lower()) for pair in differ for word in pair)
    return "hyphen" if differ and one == other and plain else None


def _acronym(a: Sequence[str], b: Sequence[str]) -> Spelling | None:
    """One has the initials in capitals of what the other spells out, and the rest is the same."""
    one, other = list(a), list(b)
    for end in (0, -1):
        while one and other and one[end].casefold() == other[end].casefold():
            one.pop(end)
            other.pop(end)
    alone = len(one) == len(a) and len(other) == len(b)
    if _abbreviates(one, other) or _abbreviates(other, one):
        return "acronym alone" if alone else "acronym"
    return None


def _abbreviates(short: Sequence[str], spelt: Sequence[str]) -> bool:
    if len(short) != 1 or not (len(short[0]) > 1 and short[0].isupper() and short[0].isalpha()):
        return False
    named = [word for word in spelt if word.casefold() not in _PASSED_OVER]
    return len(named) > 1 and "".join(word[0] for word in named).casefold() == short[0].casefold()
