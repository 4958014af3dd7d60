"""Which runs of words may be concepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from kg_api.extract.keyphrase.background import is_rare
from kg_api.extract.keyphrase.code_names import name_words
from kg_api.extract.keyphrase.lists import lists
from kg_api.extract.keyphrase.tagging.english import is_common
from kg_api.extract.keyphrase.tagging.kinds import Kind, goes_on, is_title
from kg_api.extract.keyphrase.words import Token, stop_words

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
            yield Candidate(words, _is_sure(words, language, typical=typical), typical)


def _is_compound(line: _Line, found: Sequence[int]) -> bool:
    """Whether each word says little, and all together something, such as "unit test" and "primary key"."""
    return len(found) > 1 and all(
        line.kinds[at] in _COMPOUNDED and _names_something(line, at) for at in found
    )


def _names_something(line: _Line, at: int) -> bool:
    folded = _fold(line.tokens[at])
    says_nothing = folded in line.stops and folded not in lists().nouns
    return line.joins(at) and not (says_nothing or folded in lists().weak or _is_date(folded))


def _is_sure(words: Phrase, language: str, *, typical: bool) -> bool:
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
    after = _next_word(line, at)
    if after is None or not line.joins(after) or not line.tokens[after].is_capital:
        return False
    within = _is_link(before) or (before.is_capital and folded not in lists().articles)
    return within and (_is_link(token) or folded == "'s")


def _next_word(line: _Line, at: int) -> int | None:
    """The place of the next word that is no link of a name, at most two on."""
    places = range(at + 1, min(at + 3, len(line.tokens)))
    return next((place for place in places if not _is_link(line.tokens[place])), None)


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
