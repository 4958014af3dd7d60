"""Nearest names for messages, and names found in a text in another form of spelling."""

from __future__ import annotations

import difflib
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

from rapidfuzz import process, utils
from rapidfuzz.distance import OSA

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "…": "...",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    }
)
WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Scripts that write words together: anything may begin and end within."""


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text in which white space, quotation marks, dashes and case are all alike."""

    origin: str
    text: str
    places: array[int]
    """Of each character, where its origin is; and behind them the end of the text."""

    def every(self, sought: str) -> Iterator[tuple[int, int]]:
        """From where to where in the origin something stands each time, no word of it cut off."""
        start = 0
        while sought and (at := at_words(self.text, sought, start)) is not None:
            start = at + len(sought)
            yield self.span(at, start)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """From where to where in the origin a part of this stands, with what combines with its end."""
        last = self.places[end - 1] + 1
        while last < len(self.origin) and unicodedata.combining(self.origin[last]):
            last += 1
        return self.places[start], last


def fold(text: str, *, case: bool = False) -> FoldedText:
    """Return a text in which forms are alike; `case`: but for case."""
    letters: list[str] = []
    places = array("q")
    for at, character in enumerate(text):
        alike = " " if character.isspace() else _alike(character)
        if alike == " " and letters[-1:] == [" "]:
            continue
        for each in alike if case else alike.casefold():
            letters.append(each)
            places.append(at)
    places.append(len(text))
    return FoldedText(text, "".join(letters), places)


def at_words(text: str, wanted: str, start: int) -> int | None:
    """Where `wanted` stands with no word cut off at its ends."""
    while (at := text.find(wanted, start)) >= 0:
        if not is_cut(text, at) and not is_cut(text, at + len(wanted)):
            return at
        start = at + 1
    return None


def is_cut(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    joined = before.isalnum() and (behind.isalnum() or unicodedata.combining(behind) > 0)
    return joined and not (WITHOUT_BLANKS.match(before) or WITHOUT_BLANKS.match(behind))


def _alike(character: str) -> str:
    """Without the ways in which one character can be written: as one or several, wide, as a ligature."""
    return character if character.isascii() else unicodedata.normalize("NFKD", character.translate(_SAME))


# Variables that are meant for kg and that kg does not know: a typo in them must not pass unseen.

PREFIX = "KG_"
OF_OTHERS = ("KG_TEST_",)
"""Read by the tests."""
NEAR = 0.8
"""How like a known name one without a group must be: other programs may have variables that begin so. Not by
`nearest`: it finds one word of several too, so that it would take KG_LOG or KG_WORKER_1_HOST for misspelt
settings."""
_OF_KUBERNETES = re.compile(
    r"\w+_SERVICE_(HOST|PORT(_\w+)?)=.*"
    r"|\w+_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=.*"
    r"|\w+_PORT=(tcp|udp|sctp)://.*"
)
"""Kubernetes sets these for each Service: for one named kg-api, KG_API_PORT is an address."""
PROVIDERS = ("OPENAI_", "NOMIC_", "COHERE_")
"""The SDKs of these providers read further names, so only a name that resembles a setting is rejected."""


def complaints(environment: Mapping[str, str | None], known: Iterable[str]) -> Iterator[str]:
    """Yield which variables look like settings and are none, each with the nearest that is."""
    names = sorted(known)
    groups = {name.split("__")[0] for name in names if "__" in name}
    for name, value in sorted(environment.items()):
        variable = name.upper()
        if variable.startswith(PROVIDERS) and variable not in names:
            yield from _describe_provider_typo(variable, names)
        if not variable.startswith(PREFIX) or variable in names or variable.startswith(OF_OTHERS):
            continue
        group, _, rest = variable.partition("__")
        unknown_group = bool(rest) and group not in groups  # a known group tells of its own wrong names
        injected = _OF_KUBERNETES.fullmatch(f"{variable}={value or ''}")
        near_miss = not rest and not injected and bool(_nearest(variable, names))
        if unknown_group or near_miss:
            yield describe_unknown(variable, names)


def _describe_provider_typo(variable: str, names: Sequence[str]) -> Iterator[str]:
    """Compare without the shared prefix, which would make all names of a provider look alike."""
    prefix, _, rest = variable.partition("_")
    own = [name.removeprefix(f"{prefix}_") for name in names if name.startswith(f"{prefix}_")]
    for meant in _nearest(rest, own):
        yield f"{variable}: there is no such setting; did you mean {prefix}_{meant}?"


def describe_unknown(variable: str, known: Iterable[str]) -> str:
    nearest = _nearest(variable, sorted(known))
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    return f"{variable}: there is no such setting{hint}"


def _nearest(variable: str, names: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(variable, names, n=1, cutoff=NEAR)


# Where a text names two things, each of them by itself.

Place = tuple[int, int]
"""From where to where in the text."""


@dataclass(frozen=True, slots=True)
class NamedPair:
    """The places of two names in their order, without those of one that lie within those of the other."""

    ones: Sequence[Place]
    others: Sequence[Place]

    def is_within(self, start: int, end: int) -> bool:
        """Whether both stand within a span of the text, beside each other."""
        ones, others = _ends_within(self.ones, start, end), _ends_within(self.others, start, end)
        if ones is None or others is None:
            return False
        return ones[0][1] <= others[1][0] or others[0][1] <= ones[1][0]


UNNAMED: Final = NamedPair((), ())
"""The text names neither."""


class NamePlaces:
    """Where names stand in a text, but for their form; each is looked up once."""

    def __init__(self, folded: Callable[[], FoldedText]) -> None:
        """`folded`: gives the text, but for its form; asked once, when it is needed."""
        self._folded = folded
        self._known: dict[str, tuple[str, list[Place]]] = {}

    def pair(self, one: str, other: str) -> NamedPair:
        """Those of two names: no "Python" stands in "Python Software Foundation" where that is the other."""
        (first, ones), (second, others) = self._of(one), self._of(other)
        if first != second and first in second:
            ones = [*_outside(ones, others)]
        elif first != second and second in first:
            others = [*_outside(others, ones)]
        return NamedPair(ones, others)

    def _of(self, name: str) -> tuple[str, list[Place]]:
        if name not in self._known:
            sought = fold(name).text.strip() if any(map(str.isalnum, name)) else ""
            self._known[name] = sought, [*self._text.every(sought)]
        return self._known[name]

    @cached_property
    def _text(self) -> FoldedText:
        return self._folded()


def _outside(places: Sequence[Place], others: Sequence[Place]) -> Iterator[Place]:
    for start, end in places:
        at = bisect_right(others, start, key=itemgetter(0)) - 1
        if at < 0 or others[at][1] < end:
            yield start, end


def _ends_within(places: Sequence[Place], start: int, end: int) -> tuple[Place, Place] | None:
    """The first and the last of some places that are within a span."""
    first, behind = bisect_left(places, (start, 0)), bisect_right(places, end, key=itemgetter(1))
    return (places[first], places[behind - 1]) if first < behind else None


# The names that are most like one that is not there. Pure.

MAX_SUGGESTIONS = 3
MAX_NAMED = 10
"""Names that are not there which one sentence repeats."""
MIN_BEGINNING = 3
"""Letters of a word that may stand for it, where one letter is not a word already."""
MIN_SPELT_ALIKE = 0.75
"""Letters that are the same, of the longer word's: one slip in four."""


def spelt_nearly(wanted: str, names: Iterable[str]) -> list[str]:
    """Names of which one is the one wanted with a slip of the finger, the most similar first."""
    return _most_alike(wanted, list(dict.fromkeys(names)), least=MIN_SPELT_ALIKE)


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that may be meant: spelt nearly so, or sharing all words of one."""
    known = list(dict.fromkeys(names))
    spelt = spelt_nearly(wanted, known)
    words = _words(wanted)
    sharing = [name for name in known if name not in spelt and _share_words(words, _words(name))]
    return [*spelt, *_most_alike(wanted, sharing)][:MAX_SUGGESTIONS]


def _most_alike(wanted: str, names: Sequence[str], least: float = 0) -> list[str]:
    found = process.extract(
        wanted,
        names,
        scorer=OSA.normalized_similarity,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=least,
    )
    return [name for name, _, _ in found]


def _words(text: str) -> list[str]:
    return utils.default_process(text).split()


def _share_words(wanted: Sequence[str], name: Sequence[str]) -> bool:
    """Whether one of them has all words of the other, of which there are some."""
    if len(wanted) <= len(name):
        return bool(wanted) and all(any(_is_begun(word, each) for each in name) for word in wanted)
    return bool(name) and all(any(_is_spelt(word, each) for each in wanted) for word in name)


def _is_begun(word: str, whole: str) -> bool:
    enough = len(word) >= MIN_BEGINNING or not word.isascii()
    return (enough and whole.startswith(word)) or _is_spelt(word, whole)


def _is_spelt(word: str, other: str) -> bool:
    return OSA.normalized_similarity(word, other) >= MIN_SPELT_ALIKE


def suggestion(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The clause of a message that names what is nearest; empty where nothing is like it."""
    known = list(names)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    found = list(dict.fromkeys(name for each in wanted for name in nearest(each, known)))
    return f"; the nearest: {', '.join(map(repr, found[:MAX_SUGGESTIONS]))}" if found else ""


def no_ontology(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """The sentence that one or several ontologies are not there, with those that may be meant."""
    wanted = [wanted] if isinstance(wanted, str) else wanted
    return f"there is no ontology {', '.join(map(repr, wanted))}{suggestion(wanted, names)}"


# Scripts, as classes of regular expressions name them.

UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Characters of scripts without spaces between words."""
