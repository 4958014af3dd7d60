"""Similar names for error messages, and folded name lookup in texts."""

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

from kg_api.wording import find_letter_start

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
"""Scripts without spaces between words. A word can start and end anywhere."""


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Text with uniform whitespace, quotation marks, dashes, and case."""

    origin: str
    text: str
    places: array[int]
    """Position of each character in the origin, followed by the length of the origin."""

    def find_all(self, sought: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of whole-word matches in the origin."""
        start = 0
        while sought and (at := find_whole_word(self.text, sought, start)) is not None:
            start = at + len(sought)
            yield self.to_origin(at, start)

    def to_origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the origin, including the marks of its last letter."""
        last = self.places[end - 1] + 1
        while find_letter_start(self.origin, last) != last:
            last += 1
        return self.places[start], last


def fold(text: str, *, case: bool = False) -> FoldedText:
    """Return the folded text. `case` keeps the case."""
    letters: list[str] = []
    places = array("q")
    for at, character in enumerate(text):
        alike = " " if character.isspace() else _unify(character)
        if alike == " " and letters[-1:] == [" "]:
            continue
        for each in alike if case else alike.casefold():
            letters.append(each)
            places.append(at)
    places.append(len(text))
    return FoldedText(text, "".join(letters), places)


def find_whole_word(text: str, wanted: str, start: int) -> int | None:
    """Return the position of the next whole-word match, or None."""
    while (at := text.find(wanted, start)) >= 0:
        if not is_cut(text, at) and not is_cut(text, at + len(wanted)):
            return at
        start = at + 1
    return None


def is_cut(text: str, at: int) -> bool:
    """Check if a position is inside a word, or in any script between a letter and its marks."""
    if not 0 < at < len(text):
        return False
    before, behind = text[find_letter_start(text, at - 1)], text[at]
    if not before.isalnum():
        return False
    spaced = not (WITHOUT_BLANKS.match(before) or WITHOUT_BLANKS.match(behind))
    return find_letter_start(text, at) != at or (spaced and behind.isalnum())


def _unify(character: str) -> str:
    """Return one form for composed, decomposed, wide, and ligature variants of a character."""
    return character if character.isascii() else unicodedata.normalize("NFKD", character.translate(_SAME))


# Detection of misspelt environment variables

PREFIX = "KG_"
OF_OTHERS = ("KG_TEST_",)
NEAR = 0.8
"""Minimum similarity of a variable without `__` to a known setting. `find_nearest` is not suitable: it also
matches single words, so KG_LOG or KG_WORKER_1_HOST of other programs would be misspelt settings."""
_OF_KUBERNETES = re.compile(
    r"\w+_SERVICE_(HOST|PORT(_\w+)?)=.*"
    r"|\w+_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=.*"
    r"|\w+_PORT=(tcp|udp|sctp)://.*"
)
"""Variables that Kubernetes sets for a Service. For a Service kg-api, KG_API_PORT is an address."""
PROVIDERS = ("OPENAI_", "NOMIC_", "COHERE_")
"""Provider prefixes. The SDKs read other names, so kg rejects only names similar to a setting."""


def list_complaints(environment: Mapping[str, str | None], known: Iterable[str]) -> Iterator[str]:
    """Yield a message for each variable that resembles a setting, with the nearest setting."""
    names = sorted(known)
    groups = {name.split("__")[0] for name in names if "__" in name}
    for name, value in sorted(environment.items()):
        variable = name.upper()
        if variable.startswith(PROVIDERS) and variable not in names:
            yield from _describe_provider_typo(variable, names)
        if not variable.startswith(PREFIX) or variable in names or variable.startswith(OF_OTHERS):
            continue
        group, _, rest = variable.partition("__")
        unknown_group = bool(rest) and group not in groups  # known groups report wrong names
        injected = _OF_KUBERNETES.fullmatch(f"{variable}={value or ''}")
        near_miss = not rest and not injected and bool(_find_nearest(variable, names))
        if unknown_group or near_miss:
            yield describe_unknown(variable, names)


def _describe_provider_typo(variable: str, names: Sequence[str]) -> Iterator[str]:
    """Describe the similar settings. Compare without the common prefix, which makes all names similar."""
    prefix, _, rest = variable.partition("_")
    own = [name.removeprefix(f"{prefix}_") for name in names if name.startswith(f"{prefix}_")]
    for suggestion in _find_nearest(rest, own):
        yield f"{variable}: unknown setting. Did you mean {prefix}_{suggestion}?"


def describe_unknown(variable: str, known: Iterable[str]) -> str:
    nearest = _find_nearest(variable, sorted(known))
    hint = f". Did you mean {nearest[0]}?" if nearest else ""
    return f"{variable}: unknown setting{hint}"


def _find_nearest(variable: str, names: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(variable, names, n=1, cutoff=NEAR)


# Positions of two names in a text

Place = tuple[int, int]
"""Start and end in the text."""


@dataclass(frozen=True, slots=True)
class NamedPair:
    """Positions of two names in order. Positions inside the other name do not count."""

    ones: Sequence[Place]
    others: Sequence[Place]

    def is_within(self, start: int, end: int) -> bool:
        """Check if a span contains both names without overlap."""
        ones, others = _find_span_ends(self.ones, start, end), _find_span_ends(self.others, start, end)
        if ones is None or others is None:
            return False
        return ones[0][1] <= others[1][0] or others[0][1] <= ones[1][0]


UNNAMED: Final = NamedPair((), ())  # neither name occurs


class NamePlaces:
    """Cached positions of names in a folded text."""

    def __init__(self, folded: Callable[[], FoldedText]) -> None:
        """Create the cache. kg calls `folded` once, at the first use."""
        self._folded = folded
        self._known: dict[str, tuple[str, list[Place]]] = {}

    def pair(self, one: str, other: str) -> NamedPair:
        """Return the positions of two names. "Python" inside "Python Software Foundation" does not match."""
        (first, ones), (second, others) = self._find_places(one), self._find_places(other)
        if first != second and first in second:
            ones = [*_remove_contained(ones, others)]
        elif first != second and second in first:
            others = [*_remove_contained(others, ones)]
        return NamedPair(ones, others)

    def _find_places(self, name: str) -> tuple[str, list[Place]]:
        if name not in self._known:
            folded = fold(name).text.strip() if any(map(str.isalnum, name)) else ""
            self._known[name] = folded, [*self._text.find_all(folded)]
        return self._known[name]

    @cached_property
    def _text(self) -> FoldedText:
        return self._folded()


def _remove_contained(places: Sequence[Place], others: Sequence[Place]) -> Iterator[Place]:
    for start, end in places:
        at = bisect_right(others, start, key=itemgetter(0)) - 1
        if at < 0 or others[at][1] < end:
            yield start, end


def _find_span_ends(places: Sequence[Place], start: int, end: int) -> tuple[Place, Place] | None:
    """Find the first and the last position in a span."""
    first, behind = bisect_left(places, (start, 0)), bisect_right(places, end, key=itemgetter(1))
    return (places[first], places[behind - 1]) if first < behind else None


# Similar names

MAX_SUGGESTIONS = 3
MAX_NAMED = 10
"""Maximum number of unknown names in one message."""
MIN_BEGINNING = 3
"""Minimum length of an ASCII prefix that can stand for a word."""
MIN_SPELT_ALIKE = 0.75
"""Minimum share of equal letters, which allows one typo in four letters."""


def find_similar_spellings(wanted: str, names: Iterable[str]) -> list[str]:
    """Find the names that differ from the text by typos, most similar first."""
    return _sort_by_similarity(wanted, list(dict.fromkeys(names)), least=MIN_SPELT_ALIKE)


def find_nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three similar names: similar spelling, or all words of the shorter name."""
    known = list(dict.fromkeys(names))
    spelt = find_similar_spellings(wanted, known)
    words = _list_words(wanted)
    sharing = [name for name in known if name not in spelt and _share_words(words, _list_words(name))]
    return [*spelt, *_sort_by_similarity(wanted, sharing)][:MAX_SUGGESTIONS]


def _sort_by_similarity(wanted: str, names: Sequence[str], least: float = 0) -> list[str]:
    found = process.extract(
        wanted,
        names,
        scorer=OSA.normalized_similarity,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=least,
    )
    return [name for name, _, _ in found]


def _list_words(text: str) -> list[str]:
    return utils.default_process(text).split()


def _share_words(wanted: Sequence[str], name: Sequence[str]) -> bool:
    if len(wanted) <= len(name):
        return bool(wanted) and all(any(_is_begun(word, each) for each in name) for word in wanted)
    return bool(name) and all(any(_is_spelt(word, each) for each in wanted) for word in name)


def _is_begun(word: str, whole: str) -> bool:
    enough = len(word) >= MIN_BEGINNING or not word.isascii()
    return (enough and whole.startswith(word)) or _is_spelt(word, whole)


def _is_spelt(word: str, other: str) -> bool:
    return OSA.normalized_similarity(word, other) >= MIN_SPELT_ALIKE


def format_suggestion(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """Return a clause with the nearest names, or an empty text without similar names."""
    known = list(names)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    found = list(dict.fromkeys(name for each in wanted for name in find_nearest(each, known)))
    return f" (did you mean {' or '.join(map(repr, found[:MAX_SUGGESTIONS]))}?)" if found else ""


def describe_unknown_ontology(wanted: str | Sequence[str], names: Iterable[str]) -> str:
    """Describe unknown ontologies, and suggest similar names."""
    wanted = [wanted] if isinstance(wanted, str) else wanted
    return f"ontology {', '.join(map(repr, wanted))} not found{format_suggestion(wanted, names)}"


# Scripts as classes of regular expressions

UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without spaces between words."""
