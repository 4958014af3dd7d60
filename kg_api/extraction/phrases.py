"""Candidates for concepts: phrases of a sentence, grouped and ranked per document."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import prod
from statistics import median
from typing import Literal, cast

import Stemmer

from kg_api.extraction.language import Token, is_date, is_rare, load_english_tagger, load_lists, stop_words

# Names in code: `ExceptionGroup` is "exception group" in prose

_HUMP = r"(?:[A-Z]{2,}(?=[A-Z][a-z])|[A-Z][a-z]{2,})"
_CAMEL = re.compile(rf"{_HUMP}{{2,8}}(?:\d{{1,3}})?$")
_SPECIAL = re.compile(r"__\w+__$")
_SPAN = re.compile(r"(?<!`)(`{1,2})(?P<code>[^`\n]{2,80})\1(?!`)")
_NAME = re.compile(r"@?(?P<name>[A-Za-z_][\w.]{1,78}\w)(?:\(\))?$")
_FILE = re.compile(r"\.[a-z]{1,4}$")
_SURE = re.compile(r"__[a-z]\w+__$|[A-Z][A-Z_]{5,}$|[A-Z][A-Z]+(?:_[A-Z]+)+$")
"""__exit__, PYTHONHOME, MAX_AGE"""


def split_name(name: str) -> tuple[str, ...]:
    """Split the casefolded words of a name: temporary and directory for `tempfile.TemporaryDirectory`."""
    last = name.rpartition(".")[2]
    if _CAMEL.match(last):
        return tuple(map(str.casefold, re.findall(_HUMP, last)))
    parts = re.findall(r"[^\W_]+", last) if "_" in last else []
    if len(parts) == 1 and _SPECIAL.match(last):  # __file__ is no file
        return (last.casefold(),)
    return tuple(map(str.casefold, parts)) or (name.casefold(),)


def find_code_names(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of names that a sentence marks as code, and whether one mention suffices."""
    for span in _SPAN.finditer(text):
        found = _NAME.match(span["code"])
        if found:
            start, name = span.start("code") + found.start("name"), found["name"]
            sure = (_CAMEL.match(name.rpartition(".")[2]) or _SURE.match(name)) is not None
            if sure or (("." in name or "_" in name) and not _FILE.search(name)):
                yield start, start + len(name), sure


# Kinds of words

Kind = Literal["noun", "plural", "before", "verb", "unknown", "other"]
"""Kind of a word.

`plural` is a lowercase English plural, `before` a word before a noun, and `verb` an English form in -ing.
`unknown` is a lowercase word in a language without a tagger.
"""

_DETERMINERS = frozenset("a an the its their our your my his every each no".split())  # noqa: SIM905 - one line says more
_OBJECTS = (_DETERMINERS - {"every", "each", "no"}) | {"this", "these", "those", "it", "them", "up", "itself"}
"""Words that mostly follow a verb."""
_BEFORE_ADJECTIVES = frozenset({"", "DT", "PRP$", "JJ", "IN", "CC", "CD", "POS", "(", '"'})
"""Tags (Penn Treebank) before a participle that describes the next noun."""
_BEHIND_NOUNS = frozenset({".", ",", ":", ")", "VBZ", "VBP", "VBD", "MD", "CC"})
_DESCRIBED = frozenset({"DT", "PRP$", "JJ", "VBN"})
_ENDS = frozenset({".", ",", ")", "CC"})
_WITHIN = frozenset({",", ";", "(", "'s", "’s", "/"})  # marks after which a capital does not start a sentence
_LONG_WORD = 3


def _find_own_capitals(sentence: Sequence[Token]) -> list[bool]:
    """Return for each word whether its capital is due to neither a sentence start nor a title."""
    long = [token for token in sentence if token.is_word and len(token.text) > _LONG_WORD]
    is_title = len(long) > 1 and all(token.is_capital for token in long)
    return [
        not is_title and at > 0 and token.is_capital and (before.is_word or before.text in _WITHIN)
        for at, (before, token) in enumerate(zip([*sentence[:1], *sentence], sentence, strict=False))
    ]


def _find_kinds(sentence: Sequence[Token], own: Sequence[bool], language: str) -> list[Kind]:
    if language == "en":
        return _find_english_kinds(sentence, own)
    small: Kind = "other" if language == "de" else "unknown"
    return ["other" if not each.is_word else "noun" if each.is_capital else small for each in sentence]


def _find_english_kinds(sentence: Sequence[Token], own: Sequence[bool]) -> list[Kind]:
    words = [
        token.text if is_own or not token.text.istitle() else token.text.lower()
        for token, is_own in zip(sentence, own, strict=True)
    ]
    tags = [tag for _, tag in load_english_tagger().find_tags(words)]
    folded = ["", "", *map(str.casefold, words), ""]
    for at, token in enumerate(sentence):  # an unknown word at the start of a sentence is also a name
        unknown = token.text.isupper() or folded[at + 2] not in load_english_tagger().lexicon
        tags[at] = "NNP" if tags[at] in {"NN", "NNS"} and token.is_capital and unknown else tags[at]
    for at, tag in enumerate(tags):  # the word at `at` is at at + 2 in folded
        before = folded[at] if at and tags[at - 1] == "JJ" else folded[at + 1]
        if tag in {"VB", "VBP"} and before in _DETERMINERS:
            tags[at] = "NN"
        elif tag == "NNS" and at and tags[at - 1] in {"NN", "NNP"} and _is_verb(*folded[at + 2 : at + 4]):
            tags[at] = "VBZ"
    around = zip(["", *tags], tags, [*tags[1:], "."], strict=False)
    return [_find_english_kind(*each) for each in zip(sentence, own, around, strict=True)]


def _is_verb(word: str, after: str) -> bool:
    """Check if a word with a plural tag is a verb, as in "Tobias measures the time"."""
    lexicon = load_english_tagger().lexicon
    is_form = word not in lexicon and lexicon.get(word.removesuffix("s")) in {"VB", "VBP"}
    return word.endswith("s") and (is_form or after in _OBJECTS)


def _find_english_kind(  # noqa: C901, PLR0911 - one table
    token: Token, own_capital: bool, around: tuple[str, str, str]
) -> Kind:
    before, tag, after = around
    if not token.is_word:
        return "other"
    if own_capital:
        return "before" if tag == "JJ" and token.text.isalpha() and not after.startswith("NNP") else "noun"
    if tag.startswith("NN"):
        is_plural = tag == "NNS" and token.text.islower() and token.text[-1] == "s"
        return "plural" if is_plural else "noun"
    if token.text in load_lists().nouns - load_lists().weak:  # the tagger misses some nouns: "the test set."
        if tag == "JJ" and before in {"NN", "JJ"} and not after.startswith(("NN", "JJ")):
            return "noun"
        if tag != "JJ" and before in {"NN", "NNS"} and after in (_BEHIND_NOUNS if tag == "VBN" else _ENDS):
            return "noun"
    if tag == "VBN":  # "the published interface", but not "books published in Paris"
        return "before" if before in _BEFORE_ADJECTIVES else "other"
    if tag == "VBG":  # "a learning rate", "prompt caching reduces", not "people running it"
        if before in _DESCRIBED and after.startswith("NN"):
            return "before"
        if before in _DESCRIBED and (after in _BEHIND_NOUNS or after == "IN"):
            return "noun"
        if not before.startswith("NN"):
            return "verb"
        return "noun" if after in _BEHIND_NOUNS else "other"
    return "before" if tag in {"JJ", "FW"} else "other"


# Phrases

_NO_TERM = re.compile(r"v\d[\w.]*$|(?:MUST|SHALL|SHOULD|MAY|CAN|NOT|REQUIRED|RECOMMENDED|OPTIONAL)$")
"""Versions, and keywords of RFC 2119."""
_MAX_NAME_WORDS = 6
_MAX_PHRASE_WORDS = 4
_KEPT_OF_LONGER = 3
_MAX_DIGITS = 4
_MIN_LETTERS = 3
_COMPOUND = 10  # letters from which most German nouns are compounds

Words = tuple[Token, ...]  # at least one


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that may be a concept."""

    words: Words
    is_sure: bool  # one mention suffices, other phrases need several
    is_typical: bool  # its capitals are due to neither a sentence start nor a title

    @property
    def keys(self) -> tuple[str, ...]:
        """Casefolded words, or the words inside a name in code."""
        if len(self.words) == 1:
            return split_name(self.words[0].text)
        return tuple(word.text.casefold() for word in self.words)

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def end(self) -> int:
        return self.words[-1].end

    @property
    def text(self) -> str:
        """Words as in the source, in one line."""
        joined, at = "", self.start
        for word in self.words:
            joined += (" " if word.start > at else "") + word.text
            at = word.end
        return joined


@dataclass(frozen=True, slots=True)
class _Line:
    """Sentence with the properties of its words."""

    tokens: Sequence[Token]
    kinds: Sequence[Kind]
    own: Sequence[bool]
    stops: frozenset[str]
    joins: list[bool] = field(init=False)  # whether each word may be part of a phrase

    def __post_init__(self) -> None:
        object.__setattr__(self, "joins", [self._may_join(at) for at in range(len(self.tokens))])

    def _may_join(self, at: int) -> bool:
        token, kind, nouns = self.tokens[at], self.kinds[at], load_lists().nouns
        if kind == "other" or _is_link(token) or _NO_TERM.match(token.text):
            return False
        folded = token.folded
        if folded not in self.stops or (token.text.isupper() and len(folded) > 1):
            return True
        if folded in load_lists().weak and self.own[at] and at + 1 < len(self.own) and self.own[at + 1]:
            return True  # "New York"
        # A stop word is the noun in "fair use" and "literary works".
        before = self.tokens[at - 1].folded
        return (
            at > 0
            and kind in {"noun", "plural"}
            and not nouns.isdisjoint((folded, folded.removesuffix("s")))
            and self.kinds[at - 1] in {"noun", "before"}
            and before not in self.stops
            and len(before) >= _MIN_LETTERS
        )


def find_phrases(sentence: Sequence[Token], language: str) -> Iterator[Phrase]:
    own, stops = _find_own_capitals(sentence), stop_words(language)
    line = _Line(sentence, _find_kinds(sentence, own, language), own, stops)
    for run in _find_runs(line):
        found = _trim(line, run)
        words = tuple(sentence[at] for at in found)
        is_spanish = language == "es" and words and not words[0].is_capital
        if words and not is_spanish and (_has_content(words, stops) or _is_compound(line, found)):
            typical = own[found[0]] or words[0].text[0].islower()
            yield Phrase(words, _is_sure(words, language, typical=typical), typical)
    if language == "es":
        yield from _find_spanish_phrases(sentence)


def _find_runs(line: _Line) -> Iterator[list[int]]:
    run = list[int]()
    for at, joins in enumerate(line.joins):
        if run and joins and line.joins[run[-1]]:
            kinds = line.kinds[run[-1]], line.kinds[at]
            is_new = kinds[0] == "plural" or (kinds == ("noun", "before") and not line.tokens[at].is_capital)
            # "the pioneer | James Bowie"
            is_name = line.tokens[at].is_capital and not line.tokens[at].text.isupper()
            is_new |= kinds[0] == "noun" and is_name and line.tokens[run[-1]].text[0].islower()
            if kinds[0] != kinds[1] if "unknown" in kinds else is_new:
                yield run
                run = []
        if joins or (run and _is_within_name(line, at)):
            run.append(at)
        elif run:
            yield run
            run = []
        if len(run) > _MAX_NAME_WORDS:  # "Ada Lindqvist | of the University of Carrow"
            cut = next((place for place in range(2, len(run)) if not line.joins[run[place]]), 0)
            if cut:
                yield run[:cut]
                run = run[cut:]
    if run:
        yield run


def _is_within_name(line: _Line, at: int) -> bool:
    """Check for a word inside a name: "of", a genitive, or a number at the end."""
    before, token = line.tokens[at - 1], line.tokens[at]
    if token.text[0].isdigit():
        return before.is_capital and len(token.text) <= _MAX_DIGITS
    places = range(at + 1, min(at + 3, len(line.tokens)))
    after = next((place for place in places if not _is_link(line.tokens[place])), None)
    if after is None or not line.joins[after] or not line.tokens[after].is_capital:
        return False
    within = _is_link(before) or (before.is_capital and token.folded not in load_lists().articles)
    return within and (_is_link(token) or token.folded == "'s")


def _trim(line: _Line, run: list[int]) -> list[int]:
    """Drop words before the adjectives and after the noun. The result may be empty."""
    left, right = 0, len(run)
    while right > left and not _ends(line, run[right - 1], alone=right - left == 1):
        right -= 1
    while left < right and _is_weak_start(line, run[left : left + 2] if right - left > 1 else [run[left]]):
        left += 1
    kept = run[left:right]
    name = all(line.tokens[at].is_capital or not line.joins[at] for at in kept)
    if len(kept) > (_MAX_NAME_WORDS if name else _MAX_PHRASE_WORDS):
        return [] if name else kept[-_KEPT_OF_LONGER:]
    return kept


def _ends(line: _Line, at: int, *, alone: bool) -> bool:
    word = line.tokens[at].text
    if word[0].isdigit():
        return True
    if not line.joins[at] or line.kinds[at] not in {"noun", "plural", "unknown"}:
        return False
    if alone:
        return True
    is_verb = word in load_lists().verbs and line.kinds[at - 1] != "before"
    return not is_verb and not (word.islower() and is_date(word)) and (len(word) > 1 or word.isupper())


def _is_weak_start(line: _Line, places: Sequence[int]) -> bool:
    """Check if the first of one or two words starts no phrase."""
    token, *after = (line.tokens[at] for at in places)
    if not line.joins[places[0]] or line.kinds[places[0]] == "verb" or token.text[0].isdigit():
        return True
    if is_date(token.text.casefold()) and (not after or after[0].text[0].isdigit()):
        return True
    is_name = line.own[places[0]] and len(after) > 0 and after[0].is_capital  # "New York"
    return (token.text.casefold() in load_lists().weak and not is_name) or (
        len(token.text) == 1 and len(after) > 0
    )


def _has_content(words: Words, stops: frozenset[str]) -> bool:
    known = load_lists()
    nothing = (known.nouns, known.weak, known.links, stops)
    folded = [word.text.casefold() for word in words]
    phrase = " ".join(folded)
    if phrase in known.headings or (len(words) == 1 and len(phrase) < _MIN_LETTERS):
        return False
    return not all(
        is_date(each) or any(each in some or each.removesuffix("s") in some for some in nothing)
        for each in folded
    )


def _is_compound(line: _Line, found: Sequence[int]) -> bool:
    """Check if general words form a term, as in "unit test" and "primary key"."""
    if len(found) == 1:
        return False
    for at in found:
        folded = line.tokens[at].folded
        says_nothing = folded in line.stops and folded not in load_lists().nouns
        if not line.joins[at] or line.kinds[at] not in {"noun", "plural", "before"} or says_nothing:
            return False
        if folded in load_lists().weak or is_date(folded):
            return False
    return True


def _is_sure(words: Words, language: str, *, typical: bool) -> bool:
    several, first = len(words) > 1, words[0]
    if not several and is_rare(first.text, language):
        return not first.text.endswith("ing") if language == "en" else typical or language == "de"
    if language == "de":
        return several or len(first.text) >= _COMPOUND
    if language == "en" and several:
        return True
    return first.is_capital and (several or typical)


def _is_link(token: Token) -> bool:
    """Check for a word that occurs only inside names: "of", but not "OF"."""
    return token.text.casefold() in load_lists().links and not (token.text.isupper() and len(token.text) > 1)


# Spanish noun phrases: noun after an article or preposition, adjective, "de" with another noun

_MAX_SPANISH_WORDS = 5
_SPANISH_ADJECTIVE = re.compile(
    r"(?:al|ar|iv[oa]|ic[oa]|os[oa]|ad[oa]|id[oa]|ari[oa]|ori[oa]|bl|ant|ient|ent|an[oa]|n[oa]|e[oa]|il|dor[a]?)(?:e?s)?$"
    r"|(?:bl|ant|ent)es?$"
)
_GENDER = re.compile(r"(?:o|a|os|as)$")


def _find_spanish_phrases(sentence: Sequence[Token]) -> Iterator[Phrase]:
    """Yield lowercase noun phrases."""
    stops = stop_words("es")
    small = [
        each.is_word and each.text.islower() and len(each.text) >= _MIN_LETTERS
        and not each.text.endswith("mente") and each.text not in stops
        for each in sentence
    ]  # fmt: skip

    def find_end(at: int) -> int:
        """Find the end of a noun and its adjective, or `at` if there is no noun."""
        if at >= len(sentence) or not small[at] or sentence[at - 1].folded not in load_lists().es_openers:
            return at
        is_described = at + 1 < len(sentence) and small[at + 1] and _is_spanish_adjective(sentence, at + 1)
        return at + 1 + is_described

    at = 1
    while at < len(sentence):
        end = find_end(at)
        while at < end < len(sentence) and end - at + 2 <= _MAX_SPANISH_WORDS and sentence[end].text == "de":
            behind = find_end(end + 1)
            if behind == end + 1:
                break
            end = behind
        if end > at:
            sure = end - at > 1 or is_rare(sentence[at].text, "es")
            yield Phrase(tuple(sentence[at:end]), is_sure=sure, is_typical=True)
        at = max(end, at + 1)


def _is_spanish_adjective(sentence: Sequence[Token], at: int) -> bool:
    """Check by its ending and the next word whether a word describes the previous noun: not "confirma el"."""
    word, noun = sentence[at].text, sentence[at - 1].text
    behind = sentence[at + 1].text if at + 1 < len(sentence) else "."
    is_verb = word.endswith(("a", "e")) and (behind in load_lists().es_objects or behind[0].isdigit())
    if is_verb:
        return False
    own, other = _GENDER.search(word), _GENDER.search(noun)
    if _SPANISH_ADJECTIVE.search(word) and (own is None or word.endswith("s") == noun.endswith("s")):
        return True
    return own is not None and other is not None and own[0] == other[0]


@dataclass(frozen=True, slots=True)
class Mention:
    source: int  # index of the source
    sentence: tuple[int, int]  # in code points of the source
    phrase: Phrase

    @property
    def place(self) -> tuple[int, int]:
        return self.source, self.phrase.start


Group = list[Mention]


# Concepts of a document: phrases with the same meaning, best first

_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_ENDING = 2  # maximum difference in length between two forms of a word
_MIN_MENTIONS = range(3, 9)  # minimum mentions of a common word, by the length of its document
_WORDS_A_MENTION = 150
_ONCE = 3.0  # factor for the weight of common words with one mention
_MAX_FORMS = 5


@dataclass(frozen=True, slots=True)
class RankedPhrase:
    label: str
    others: tuple[str, ...]
    weight: float  # above 0, lower is better
    mentions: tuple[Mention, ...]
    words: frozenset[str]


def rank_phrases(
    mentions: Sequence[Mention], weights: Mapping[str, float], language: str, count: int
) -> list[RankedPhrase]:
    """Join the forms of each phrase and sort the phrases, best first, then by label."""
    unknown = median(weights.values()) if weights else 1.0
    least = min(max(count // _WORDS_A_MENTION, _MIN_MENTIONS.start), _MIN_MENTIONS.stop - 1)
    found = list[RankedPhrase]()
    for group in _group_mentions(mentions, language):
        is_sure = any(each.phrase.is_sure for each in group)
        if is_sure or len(group) >= (2 if len(group[0].phrase.words) > 1 else least):
            found.append(_rank(group, weights, unknown, language))
    return sorted(found, key=lambda each: (each.weight, each.label))


def _rank(group: Group, weights: Mapping[str, float], unknown: float, language: str) -> RankedPhrase:
    words = max(group, key=lambda each: len(each.phrase.words)).phrase.keys
    stops = stop_words(language)
    weighed = [weights.get(word, unknown) for word in words if word not in stops and word[0].isalpha()]
    weight = prod(weighed) / (len(group) * (1 + sum(weighed)))  # YAKE's formula for several words
    if len(group) == 1 and group[0].phrase.words[-1].text.islower():
        weight *= _ONCE
    # The label is the longest form that occurs most often inside sentences.
    counts = Counter(each.phrase.text for each in group)
    own = Counter(each.phrase.text for each in group if each.phrase.is_typical)
    full = max(len(each.phrase.words) for each in group)
    short = {each.phrase.text for each in group if len(each.phrase.words) < full}
    forms = dict[str, str]()
    for phrase in sorted(counts, key=lambda said: (said in short, -own[said], -counts[said])):
        forms.setdefault(phrase.casefold(), phrase)
    label, *others = forms.values()
    return RankedPhrase(label, tuple(others[:_MAX_FORMS]), weight, tuple(group), frozenset(words))


def _group_mentions(mentions: Sequence[Mention], language: str) -> Iterator[Group]:
    """Group the mentions of each phrase with all forms of its last word."""
    name = _STEMMERS.get(language)
    stem = cast("Callable[[str], str]", Stemmer.Stemmer(name).stemWord) if name else str
    alike: defaultdict[tuple[str, ...], list[tuple[str, Group]]] = defaultdict(list)
    for each in mentions:
        *before, last = each.phrase.keys
        groups = alike[*before, stem(last)]
        # A stemmer also joins different words. Forms of one word differ only in their last letters.
        fitting = next((group for form, group in groups if _is_form(form, last)), None)
        if fitting is None:
            groups.append((last, [each]))
        else:
            fitting.append(each)
    for groups in alike.values():
        yield from (group for _, group in groups)


def _is_form(one: str, other: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return abs(len(one) - len(other)) <= _ENDING and shared >= min(len(one), len(other)) - 1
