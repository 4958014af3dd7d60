"""Names that a document shortens, abbreviates, or makes longer once: one concept with the usual one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kg_api.extract.keyphrase.lists import lists
from kg_api.extract.keyphrase.phrases import Candidate, Phrase
from kg_api.extract.keyphrase.tagging.english import is_common


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase in a source."""

    source: int
    """Its place among those read."""
    sentence: tuple[int, int]
    """In code points of the source's text."""
    phrase: Candidate

    @property
    def said(self) -> str:
        """As the text has it, in one line."""
        return "".join(_spaced(self.phrase))


_MIN_NESTING = 3
"""Words of a phrase that may hold another one of several words."""
_APART = 4
"""Characters between a name and its abbreviation, such as ' ("'."""

_SON_OF = re.compile("^Ma?c(?=[A-Z])")

Group = list[Mention]


def join_variants(groups: Sequence[Group]) -> list[Group]:
    """Put together what means one thing, the longer name first; the order of the others stays."""
    nested = _join_nested(groups)
    long_of = {**_abbreviations(nested), **_short_names(nested)}
    joined = {at: [*group] for at, group in enumerate(nested) if at not in long_of}
    for short, long in long_of.items():
        joined.get(long_of.get(long, long), []).extend(nested[short])
    return [sorted(group, key=lambda each: (each.source, each.phrase.start)) for group in joined.values()]


def _join_nested(groups: Sequence[Group]) -> list[Group]:
    """A phrase that is said once, and holds another one that is said by itself, is taken for that one."""
    by_key = {_key(group[0].phrase.words): at for at, group in enumerate(groups)}
    joined = [[*group] for group in groups]
    for at, group in enumerate(groups):
        words = group[0].phrase.words
        if len(group) > 1 or len(words) < _MIN_NESTING or words[-1].is_capital:
            continue
        for part in _parts(words):
            other = by_key.get(_key(part))
            if other is not None:
                joined[other].append(replace(group[0], phrase=replace(group[0].phrase, words=part)))
                joined[at] = []
                break
    return [group for group in joined if group]


def _parts(words: Phrase) -> Iterator[Phrase]:
    """Its first and last words, two at least, the longest first."""
    for length in range(len(words) - 1, 1, -1):
        yield words[-length:]
        yield words[:length]


def _key(words: Phrase) -> tuple[str, ...]:
    return (*(word.text.casefold() for word in words[:-1]), words[-1].text.casefold().removesuffix("s"))


def _abbreviations(groups: Sequence[Group]) -> dict[int, int]:
    """Which group says in capitals what another one spells out just before: World Trade Union (WTU)."""
    ends: defaultdict[tuple[int, tuple[int, int]], list[tuple[int, int]]] = defaultdict(list)
    for at, group in enumerate(groups):
        for each in group if len(group[0].phrase.words) > 1 else ():
            ends[each.source, each.sentence].append((each.phrase.end, at))
    return {
        at: long
        for at, group in enumerate(groups)
        if len(group[0].phrase.words) == 1 and group[0].said.isupper()
        for each in group
        for end, long in ends[each.source, each.sentence]
        if 0 < each.phrase.start - end <= _APART and _abbreviates(each.said, groups[long][0].phrase.words)
    }


def _abbreviates(short: str, words: Phrase) -> bool:
    initials = [word.text[0].upper() for word in words]
    without_links = [word.text[0].upper() for word in words if word.text.casefold() not in lists().links]
    return list(short) in (initials, without_links)


def _short_names(groups: Sequence[Group]) -> dict[int, int]:
    """Which group is the last word of one name of several words: Castellan of Helen Castellan."""
    full: defaultdict[str, list[int]] = defaultdict(list)
    for at, group in enumerate(groups):
        words = group[0].phrase.words
        if len(words) > 1 and all(word.is_capital and word.text.isalpha() for word in words):
            full[words[-1].text].append(at)
    headline = min(((each.source, each.sentence) for group in groups for each in group), default=None)
    return {
        at: full[group[0].said][0]
        for at, group in enumerate(groups)
        if len(group[0].phrase.words) == 1
        and len(full.get(group[0].said, ())) == 1
        and _is_short_for(group, groups[full[group[0].said][0]], headline)
    }


def _is_short_for(short: Group, long: Group, headline: tuple[int, tuple[int, int]] | None) -> bool:
    """Whether one name stands for another one that ends with it.

    What is said before the longer name does not, as Python for Pure Python, but in the first sentence, where
    the longer one has no common word as Helen Castellan has none; nor does one with inner capitals where it
    has, as TypeScript for Python TypeScript; nor what the text writes small, too; nor APIs.
    """
    if not all(_is_name(each.said) for each in short):
        return False
    before = [each for each in short if (each.source, each.phrase.start) < _place(long)]
    if not before and all(_SON_OF.sub("", each.said).istitle() for each in short):
        return True
    is_plain = any(is_common(word.text) for word in long[0].phrase.words[:-1])
    return not is_plain and all((each.source, each.sentence) == headline for each in before)


def _is_name(said: str) -> bool:
    """Whether a word is written as names are, and is no plural of an abbreviation."""
    return said[0].isupper() and any(map(str.islower, said)) and not said[:-1].isupper()


def _place(group: Group) -> tuple[int, int]:
    """Of the first mention."""
    return min((each.source, each.phrase.start) for each in group)


def _spaced(phrase: Candidate) -> Iterator[str]:
    at = phrase.start
    for word in phrase.words:
        yield (" " if word.start > at else "") + word.text
        at = word.end
