"""Candidates for concepts: runs of words that may be a term, grouped and ranked over a document."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from math import prod
from typing import cast

import Stemmer

from kg_api.extraction.tagging import (
    Kind,
    Token,
    goes_on,
    is_common,
    is_rare,
    is_title,
    lists,
    stop_words,
    typical,
)

# Names of programs that a text speaks of: `ExceptionGroup` is what it calls an exception group elsewhere.

_HUMP = r"(?:[A-Z]{2,}(?=[A-Z][a-z])|[A-Z][a-z]{2,})"
_CAMEL = re.compile(rf"{_HUMP}{{2,8}}(?:\d{{1,3}})?$")
_HUMPS = re.compile(_HUMP)
_PART = re.compile(r"[^\W_]+")
_SPECIAL = re.compile(r"__\w+__$")
_MAX_LENGTH = 80

_SPAN = re.compile(r"(?<!`)(`{1,2})(?P<code>[^`\n]{2,80})\1(?!`)")
"""Code within a line of text."""
_NAME = re.compile(r"@?(?P<name>[A-Za-z_][\w.]{1,78}\w)(?:\(\))?$")
_WORD = re.compile(r"(?<![\w./:@-])[A-Z][A-Za-z]{4,78}\b(?![/@])")
_FILE = re.compile(r"\.[a-z]{1,4}$")
_SURE = re.compile(
    r"__[a-z]\w+__$"  # __exit__
    r"|[A-Z][A-Z_]{5,}$"  # PYTHONHOME
    r"|[A-Z][A-Z]+(?:_[A-Z]+)+$"  # MAX_AGE
)


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name, folded: of `tempfile.TemporaryDirectory` temporary and directory."""
    if name.isalpha() and not _CAMEL.match(name):
        return (name.casefold(),)
    last = name.rpartition(".")[2]
    if _CAMEL.match(last):
        return tuple(each.casefold() for each in _HUMPS.findall(last))
    parts = _PART.findall(last) if "_" in last else []
    if len(parts) == 1 and _SPECIAL.match(last):  # __file__ is no file
        return (last.casefold(),)
    return tuple(each.casefold() for each in parts) or (name.casefold(),)


def names_in_text(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where a sentence marks names as code: start, end, and whether once is enough."""
    for span in _SPAN.finditer(text):
        found = _NAME.match(span["code"])
        if found:
            start = span.start("code") + found.start("name")
            name = found["name"]
            last = name.rpartition(".")[2]
            sure = len(name) <= _MAX_LENGTH and (_CAMEL.match(last) or _SURE.match(name)) is not None
            if sure or (("." in name or "_" in name) and not _FILE.search(name)):
                yield start, start + len(name), sure


def names_in_code(text: str) -> Iterator[tuple[int, int]]:
    """Where a line of code has names that are written as those of classes are."""
    return ((found.start(), found.end()) for found in _WORD.finditer(text) if _CAMEL.match(found[0]))


# Which runs of words may be concepts.

_MAX_NAME_LENGTH = 6
_MAX_PHRASE_LENGTH = 4
_KEPT_OF_LONGER = 3
_MAX_NUMBER_WORDS = 4
_MIN_LETTERS = 3
"""Letters of a single word."""
_NOUNS = frozenset({"noun", "plural"})
_COMPOUNDED = _NOUNS | {"before"}
_COMPOUND = 10
"""Letters from which a German noun is a compound, most of the time."""

_REQUIREMENTS = frozenset("MUST SHALL SHOULD MAY CAN NOT REQUIRED RECOMMENDED OPTIONAL".split())  # noqa: SIM905
"""Words of standards that no capitals make names (RFC 2119)."""

_VERSION = re.compile(r"v\d[\w.]*$")

Phrase = tuple[Token, ...]
"""At least one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run of words that may be a concept."""

    words: Phrase
    is_sure: bool
    """Said once it is a concept; else only what a document says more than once."""
    is_typical: bool
    """It stands where capitals are those of its own: not at the start of a sentence, not in a title."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Its words, folded; those of a name of code, which is called so elsewhere."""
        if len(self.words) == 1:
            return name_words(self.words[0].text)
        return tuple(word.text.casefold() for word in self.words)

    @property
    def start(self) -> int:
        """In code points of the source's text."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """In code points of the source's text."""
        return self.words[-1].end


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence, and what is known of its words."""

    tokens: Sequence[Token]
    kinds: Sequence[Kind]
    stops: frozenset[str]
    is_title: bool
    _joining: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_joining", [self._may_join(at) for at in range(len(self.tokens))])

    def is_own_capital(self, at: int) -> bool:
        """Whether a word has a capital of its own."""
        return at > 0 and not self.is_title and self.tokens[at].is_capital and goes_on(self.tokens[at - 1])

    def begins_name(self, at: int) -> bool:
        """Whether a word such as "new" is part of a name."""
        if self.is_title or not self.tokens[at].is_capital or at + 1 == len(self.tokens):
            return False
        after = self.tokens[at + 1]
        named = after.is_word and after.is_capital
        return named and self.tokens[at].text.lower() in lists().name_starts

    def joins(self, at: int) -> bool:
        """Whether a word may be part of a phrase."""
        return self._joining[at]

    def _may_join(self, at: int) -> bool:
        token = self.tokens[at]
        if not token.is_word or _is_link(token) or token.text in _REQUIREMENTS or _VERSION.match(token.text):
            return False
        if self.begins_name(at):
            return True
        if self.kinds[at] == "other":
            return False
        is_acronym = token.text.isupper() and len(token.text) > 1
        return is_acronym or _fold(token) not in self.stops or self._is_head(at)

    def _is_head(self, at: int) -> bool:
        """Whether a stop word is the noun of a phrase, as in "fair use" and "literary works"."""
        folded = _fold(self.tokens[at])
        is_noun = self.kinds[at] in _NOUNS and not lists().nouns.isdisjoint(
            (folded, folded.removesuffix("s"))
        )
        if not is_noun or at == 0 or self.kinds[at - 1] not in {"noun", "before"}:
            return False
        before = _fold(self.tokens[at - 1])
        return before not in self.stops and len(before) >= _MIN_LETTERS


def candidates(sentence: Sequence[Token], kinds: Sequence[Kind], language: str) -> Iterator[Candidate]:
    """Give the phrases of a sentence whose words are of these kinds, none within another, in order."""
    line = _Line(sentence, kinds, stop_words(language), is_title(sentence))
    for run in (part for whole in _runs(line) for part in _shorter(line, whole)):
        found = _trim(line, run)
        words = tuple(sentence[at] for at in found)
        if words and (_says_something(words, line.stops) or _is_compound(line, found)):
            typical = line.is_own_capital(found[0]) or (sentence[found[0]].text[0].islower())
            yield Candidate(words, _is_sure_phrases(words, language, typical=typical), typical)


def _is_compound(line: _Line, found: Sequence[int]) -> bool:
    """Whether each word says little, and all together something, such as "unit test" and "primary key"."""
    return len(found) > 1 and all(
        line.kinds[at] in _COMPOUNDED and _names_something(line, at) for at in found
    )


def _names_something(line: _Line, at: int) -> bool:
    folded = _fold(line.tokens[at])
    says_nothing = folded in line.stops and folded not in lists().nouns
    return line.joins(at) and not (says_nothing or folded in lists().weak or _is_date(folded))


def _is_sure_phrases(words: Phrase, language: str, *, typical: bool) -> bool:
    several, first = len(words) > 1, next(iter(words))
    if not several and is_rare(first.text, language):
        return not first.text.endswith("ing") if language == "en" else typical or language == "de"
    if language == "en":
        return several or (typical and first.is_capital and not is_common(first.text))
    if language == "de":
        return several or len(first.text) >= _COMPOUND
    return first.is_capital and (several or typical)


def _runs(line: _Line) -> Iterator[list[int]]:
    run: list[int] = []
    for at in range(len(line.tokens)):
        joins = line.joins(at)
        if run and (joins and _is_break(line, run[-1], at)):
            yield run
            run = []
        if joins or (run and _links(line, at)):
            run.append(at)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_break(line: _Line, last: int, at: int) -> bool:
    """Whether a phrase ends between two words: "the pioneer | James Bowie", "Lady Gaga | singt"."""
    if not line.joins(last):
        return False
    kinds = line.kinds[last], line.kinds[at]
    if "unknown" in kinds:
        return kinds[0] != kinds[1]
    if kinds[0] == "plural" or (kinds == ("noun", "before") and not line.tokens[at].is_capital):
        return True
    return kinds[0] == "noun" and _is_name(line.tokens[at]) and line.tokens[last].text[0].islower()


def _links(line: _Line, at: int) -> bool:
    """Whether a word stands within a name: "of", the genitive, or the number behind it."""
    before, token = line.tokens[at - 1], line.tokens[at]
    folded = _fold(token)
    if token.text[0].isdigit():
        return before.is_capital and len(token.text) <= _MAX_NUMBER_WORDS
    # The place of the next word that is no link of a name, at most two on
    places = range(at + 1, min(at + 3, len(line.tokens)))
    after = next((place for place in places if not _is_link(line.tokens[place])), None)
    if after is None or not line.joins(after) or not line.tokens[after].is_capital:
        return False
    within = _is_link(before) or (before.is_capital and folded not in lists().articles)
    return within and (_is_link(token) or folded == "'s")


def _shorter(line: _Line, run: list[int]) -> Iterator[list[int]]:
    """A name that is too long is several: "Ada Lindqvist | of the University of Carrow"."""
    if len(run) > _MAX_NAME_LENGTH:
        cut = next((at for at in range(2, len(run)) if not line.joins(run[at])), len(run))
        yield run[:cut]
        yield run[cut:]
    else:
        yield run


def _trim(line: _Line, run: list[int]) -> list[int]:
    """Leave away what stands before and behind the noun and its adjectives; empty when nothing is left."""
    left, right = 0, len(run)
    while right > left and not _ends(line, run[right - 1], alone=right - left == 1):
        right -= 1
    while left < right and _is_weak_start(line, run[left], run[left + 1] if right - left > 1 else None):
        left += 1
    kept = run[left:right]
    name = all(line.tokens[at].is_capital or not line.joins(at) for at in kept)
    if len(kept) > (_MAX_NAME_LENGTH if name else _MAX_PHRASE_LENGTH):
        return [] if name else kept[-_KEPT_OF_LONGER:]
    return kept


def _ends(line: _Line, at: int, *, alone: bool) -> bool:
    said = line.tokens[at].text
    if said[0].isdigit():
        return True
    if not line.joins(at) or (not alone and _is_no_head(line, at)):
        return False
    is_noun = line.kinds[at] in {"noun", "plural", "unknown"}
    return is_noun and (alone or len(said) > 1 or said.isupper())


def _is_no_head(line: _Line, at: int) -> bool:
    """Whether a word ends no phrase: a time, or a verb behind a noun; "literary works" is none."""
    said = line.tokens[at].text
    is_verb = said in lists().verbs and line.kinds[at - 1] != "before"
    return is_verb or (said.islower() and _is_date(said))


def _is_weak_start(line: _Line, at: int, after: int | None) -> bool:
    token, kind = line.tokens[at], line.kinds[at]
    if after is not None and line.begins_name(at):
        return False
    if not line.joins(at) or kind == "verb" or token.text[0].isdigit():
        return True
    if kind == "before" and after is not None and not token.is_capital and _is_name(line.tokens[after]):
        return True  # "former James Bowie"
    if kind == "common":
        return True
    if _is_date(token.text.casefold()) and (after is None or line.tokens[after].text[0].isdigit()):
        return True
    return token.text.casefold() in lists().weak or (len(token.text) == 1 and after is not None)


def _is_name(token: Token) -> bool:
    """Whether it begins a name, and is no abbreviation, as in "mutual TLS"."""
    return token.is_capital and not (len(token.text) > 1 and token.text.isupper())


def _says_something(words: Phrase, stops: frozenset[str]) -> bool:
    folded = [word.text.casefold() for word in words]
    said, nothing = " ".join(folded), _nothings(stops)
    if said in lists().headings or all(
        each in nothing or each.removesuffix("s") in nothing or _is_date(each) for each in folded
    ):
        return False
    return len(words) > 1 or len(said) >= _MIN_LETTERS


@cache
def _nothings(stops: frozenset[str]) -> frozenset[str]:
    """Words that say nothing by themselves, in a language with these stop words."""
    known = lists()
    return known.nouns | known.weak | known.links | stops


def _is_link(token: Token) -> bool:
    """Whether it stands within names only: "of", but not "OF"."""
    said = token.text
    return said.casefold() in lists().links and not (said.isupper() and len(said) > 1)


def _fold(token: Token) -> str:
    return token.text.casefold().replace("’", "'")


def _is_date(folded: str) -> bool:
    """Whether a word is a number or of a time, such as "2001", "july" or "jul-2001"."""
    parts = folded.split("-")
    return all(part in lists().dates or not any(map(str.isalpha, part)) for part in parts)


# Names that a document shortens, abbreviates, or makes longer once: one concept with the usual one.


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
    if not all(_is_name_variants(each.said) for each in short):
        return False
    before = [each for each in short if (each.source, each.phrase.start) < _place(long)]
    if not before and all(_SON_OF.sub("", each.said).istitle() for each in short):
        return True
    is_plain = any(is_common(word.text) for word in long[0].phrase.words[:-1])
    return not is_plain and all((each.source, each.sentence) == headline for each in before)


def _is_name_variants(said: str) -> bool:
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


# The concepts of a document: phrases of one meaning together, the most telling first.

_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_ENDING = 2
"""Letters by which two forms of a word differ in length."""
_WORD_SAID = range(3, 9)
"""How often a document says a word that is a concept of it, by its length."""
_WORDS_A_SAYING = 150
_PHRASE_SAID = 2
"""And a phrase that may be none by its words."""
_SAID_ONCE = 3.0
"""How much less a phrase of common words says that a document says once."""
_MAX_TERMS = 5


@dataclass(frozen=True, slots=True)
class RankedPhrase:
    """A concept of a document."""

    label: str
    others: tuple[str, ...]
    """Its other forms there."""
    weight: float
    """The less the better, above 0."""
    mentions: tuple[Mention, ...]
    """In reading order."""
    words: frozenset[str]
    """Folded."""


def rank(
    mentions: Sequence[Mention], weights: Mapping[str, float], language: str, words: int
) -> list[RankedPhrase]:
    """Put the forms of one phrase together and order them, the best first; ties by their labels.

    Args:
        mentions: of a document, in reading order.
        weights: of its words, the less the better.
        language: of the document, or empty.
        words: how many the document has.
    """
    unknown = typical(dict(weights))
    groups = [
        each
        for each in join_variants(list(_groups(mentions, language)))
        if len(each) >= _min_mentions(each, words)
    ]
    found = [_rank(each, weights, unknown, language) for each in groups]
    return sorted(found, key=lambda each: (each.weight, each.label))


def _min_mentions(group: Sequence[Mention], words: int) -> int:
    """How often a phrase is to be said."""
    if any(each.phrase.is_sure for each in group):
        return 1
    if len(group[0].phrase.words) > 1:
        return _PHRASE_SAID
    return min(max(words // _WORDS_A_SAYING, _WORD_SAID.start), _WORD_SAID.stop - 1)


def _rank(
    group: Sequence[Mention], weights: Mapping[str, float], unknown: float, language: str
) -> RankedPhrase:
    label, *others = _forms(group)
    words = max(group, key=lambda each: len(each.phrase.words)).phrase.keys
    stops = stop_words(language)
    weighed = [weights.get(word, unknown) for word in words if word not in stops and word[0].isalpha()]
    weight = prod(weighed) / (len(group) * (1 + sum(weighed)))  # YAKE's for several words
    once = len(group) == 1 and group[0].phrase.words[-1].text.islower()
    weight *= _SAID_ONCE if once else 1
    return RankedPhrase(label, tuple(others[:_MAX_TERMS]), weight, tuple(group), frozenset(words))


def _forms(group: Sequence[Mention]) -> list[str]:
    """The ways a phrase is written, the label first: as it stands within a sentence, most often, first."""
    counts = Counter(each.said for each in group)
    own = Counter(each.said for each in group if each.phrase.is_typical)
    full = max(len(each.phrase.words) for each in group)
    short = {each.said for each in group if len(each.phrase.words) < full}
    ordered = sorted(counts, key=lambda said: (said in short, -own[said], -counts[said]))
    folded: dict[str, str] = {}
    for said in ordered:
        folded.setdefault(said.casefold(), said)
    return list(folded.values())


def _groups(mentions: Sequence[Mention], language: str) -> Iterator[list[Mention]]:
    name = _STEMMERS.get(language)
    stem = cast("Callable[[str], str]", Stemmer.Stemmer(name).stemWord) if name else str
    alike: defaultdict[tuple[str, ...], list[Mention]] = defaultdict(list)
    for each in mentions:
        *before, last = each.phrase.keys
        alike[*before, stem(last)].append(each)
    for group in alike.values():
        yield from _apart(group)


def _apart(group: Iterable[Mention]) -> Iterator[list[Mention]]:
    """Part what a stemmer puts together: forms of one word differ in their last letters only."""
    parts: list[tuple[str, list[Mention]]] = []
    for each in group:
        last = each.phrase.keys[-1]
        fitting = [part for form, part in parts if _is_form(form, last)]
        if not fitting:
            fitting = [list[Mention]()]
            parts.append((last, fitting[0]))
        fitting[0].append(each)
    return (part for _, part in parts)


def _is_form(one: str, other: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return abs(len(one) - len(other)) <= _ENDING and shared >= min(len(one), len(other)) - 1
