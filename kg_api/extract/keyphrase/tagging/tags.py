"""Parts of speech that a tagger gave word by word, corrected by what the whole document says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kg_api.extract.keyphrase.tagging.english import is_known, is_verb

_NOUN = "NN"
_VERB = "VBZ"
_DETERMINERS = frozenset("a an the its their our your my his every each no".split())  # noqa: SIM905 - one line says more
"""Words behind which a noun comes; "this", "all" and "her" also stand alone."""
_OBJECTS = (_DETERMINERS - {"every", "each", "no"}) | {"this", "these", "those", "it", "them", "up", "itself"}
"""Words that follow a verb, and no noun, most of the time."""
_CAUSES = frozenset({"do", "does", "did", "let", "lets", "make", "makes", "help", "helps", "have", "see"})
"""Verbs behind which a noun and a verb in its plain form come."""
_CLAUSES = frozenset("that because if while whether although though since as unless until than".split())  # noqa: SIM905
"""Words with the tag of a preposition behind which a sentence begins."""
_PLAIN = frozenset({"VB", "VBP"})
_NOUNS = frozenset({"NN", "NNP"})
_ANY_NOUN = frozenset({"NN", "NNS", "NNP", "NNPS"})
_WITHIN = _ANY_NOUN | {"DT", "PRP$", "POS", "CD", "JJ", "JJR", "JJS", "RBS", "VBN"}
_BEFORE_VERBS = frozenset({"TO", "MD", "PRP", "NNS", "NNPS", "WP", "WDT", "RB"})
_BEHIND_NOUNS = frozenset({"", ".", ",", ":", ")", "VBZ", "VBP", "VBD", "MD", "CC"})
_ENDS = frozenset({"", ".", ","})
_BOUNDS = frozenset({".", ",", ":", "(", ")", "WP", "WDT", "WRB", '"'})
_FINITE = frozenset({"VB", "VBP", "VBZ", "VBD", "MD"})
_NAMES = frozenset({"NNP", "NNPS"})
_ATTRIBUTES = frozenset("arms customs earnings goods news operations sales savings sports systems".split())  # noqa: SIM905
"""Plurals that stand before the noun of a phrase: "sales report"."""
_SUBJECTS = frozenset({"i", "you", "we", "they"})
_MAX_CLAUSE_WORDS = 30
_MAX_PHRASE_WORDS = 12
"""Words of a phrase that are looked at, so that hostile text takes no time squared."""
_SAID = 2
"""How often a document says two words together that are one phrase."""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence: its words, folded, and their tags (Penn Treebank); reads as empty beyond its ends."""

    words: list[str]
    tags: list[str]

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def tag(self, at: int) -> str:
        return self.tags[at] if 0 <= at < len(self.tags) else ""

    def pair(self, at: int) -> tuple[str, str]:
        """The word there and the one behind it, whatever its number."""
        return self.word(at), self.word(at + 1).removesuffix("s")

    def is_bound(self, at: int) -> bool:
        """Whether a clause ends there."""
        return self.tag(at) in _BOUNDS or (self.tag(at) == "IN" and self.word(at) in _CLAUSES)

    def before_phrase(self, at: int) -> int:
        """The place in front of the adjectives and nouns that end there."""
        least = at - _MAX_PHRASE_WORDS
        while at > least and self.tag(at) in _WITHIN:
            at -= 1
        return at


@dataclass(frozen=True, slots=True)
class _Known:
    """What a document shows to be nouns."""

    words: frozenset[str]
    """They stand behind an article, or an adjective behind one."""
    firsts: frozenset[tuple[str, str]]
    """Such a word and the noun behind it."""
    lasts: Counter[tuple[str, str]]
    """A noun and what stands behind it, wherever that may be a noun."""


def correct_tags(sentences: Sequence[TaggedSentence]) -> list[list[str]]:
    """Give the tags of a document's sentences: an "interpreter lock" ends in no verb."""
    for each in sentences:
        _behind_articles(each)
    known = _collect_known(sentences)
    for each in sentences:
        for at, tag in enumerate(each.tags):
            each.tags[at] = _correct(each, at, tag, known)
    return [each.tags for each in sentences]


def _behind_articles(said: TaggedSentence) -> None:
    for at, tag in enumerate(said.tags):
        if tag in _PLAIN and _is_behind_article(said, at):
            said.tags[at] = _NOUN


def _is_behind_article(said: TaggedSentence, at: int) -> bool:
    before = at - 2 if said.tag(at - 1) == "JJ" else at - 1
    return said.word(before) in _DETERMINERS


def _collect_known(sentences: Sequence[TaggedSentence]) -> _Known:
    sure = [(each, at) for each in sentences for at in _sure_nouns(each)]
    return _Known(
        frozenset(each.word(at) for each, at in sure),
        frozenset(each.pair(at) for each, at in sure if each.tag(at + 1) in _ANY_NOUN),
        Counter(
            each.pair(at)
            for each in sentences
            for at, tag in enumerate(each.tags)
            if tag == _NOUN and each.tag(at + 1) in {*_PLAIN, "VBG"} and each.tag(at + 2) in _BEHIND_NOUNS
        ),
    )


def _sure_nouns(said: TaggedSentence) -> Iterator[int]:
    return (at for at, tag in enumerate(said.tags) if tag == _NOUN and _is_behind_article(said, at))


def _correct(said: TaggedSentence, at: int, tag: str, known: _Known) -> str:
    if tag in _PLAIN:
        return _NOUN if _is_first(said, at, known) or _is_last(said, at, known) else tag
    if tag == "VBG":
        return _NOUN if said.tag(at - 1) == _NOUN and _is_repeated(said, at, known) else tag
    if tag == "NNS" and _is_third_person(said, at):
        return _VERB
    return "VB" if tag == _NOUN and (_is_infinitive(said, at, known) or _is_only_verb(said, at)) else tag


def _is_first(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it is as "match statements" where the document has "a match statement" too."""
    return (
        said.tag(at + 1) in _ANY_NOUN
        and said.pair(at) in known.firsts
        and said.tag(at - 1) not in _BEFORE_VERBS
    )


def _is_last(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it ends a phrase: a noun in the singular has no verb in its plain form behind it."""
    is_plural = said.word(at - 1).endswith("s") and not said.word(at - 1).endswith("ss")
    if said.tag(at - 1) != _NOUN or is_plural or said.word(at + 1) in _OBJECTS:
        return False
    before = said.before_phrase(at - 1)
    if said.tag(before) == "MD" or said.word(before) in _CAUSES:
        return False
    return said.word(at) in known.words or _is_repeated(said, at, known)


def _is_repeated(said: TaggedSentence, at: int, known: _Known) -> bool:
    return known.lasts[said.pair(at - 1)] >= _SAID and said.word(at + 1) not in _OBJECTS


def _is_third_person(said: TaggedSentence, at: int) -> bool:
    """Whether it is as in "Tobias measures the time" and "Python disallows", not as in "in use cases the"."""
    if said.tag(at - 1) not in _NOUNS or not said.word(at).endswith("s"):
        return False
    word = said.word(at)
    if not is_known(word) and is_verb(word.removesuffix("s")):
        return True
    if (
        said.tag(at - 1) == _NOUN
        and said.tag(at + 1) == "NNS"
        and is_known(f"{word[:-1].removesuffix('e')}ed")
    ):
        return True  # "quantization stores weights"
    before = said.before_phrase(at - 1)
    is_within = said.tag(before) == "IN" and said.word(before) not in _CLAUSES
    is_object = said.word(at + 1) == "that" and said.tag(at + 2) in _ENDS  # "honors that.", not "teams that"
    return (is_object or said.word(at + 1) in _OBJECTS) and not is_within


def _is_infinitive(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it is as in "still gain access" and "to drive attackers away", not "to library authors"."""
    before = at - 2 if said.tag(at - 1) == "RB" else at - 1
    word = said.word(at)
    return (
        said.tag(before) in {"TO", "MD"}
        and said.tag(at + 1) in _ANY_NOUN
        and word not in known.words
        and _has_verb_forms(word)
    )


def _has_verb_forms(word: str) -> bool:
    return any(map(is_known, (f"{word}ed", f"{word}{word[-1:]}ed", f"{word.removesuffix('e')}ing")))


def _is_only_verb(said: TaggedSentence, at: int) -> bool:
    """Whether it is the verb of a clause without another: "biologists in Monterey Bay count sea otters"."""
    is_described = said.tag(at + 1) == "JJ"
    behind = said.tag(at + 1 + is_described)
    is_object = behind in _ANY_NOUN or (is_described and behind == "VBZ")  # "polar bears"
    if not is_object or said.tag(len(said.tags) - 1) != "." or not _has_verb_forms(said.word(at)):
        return False
    if said.tag(at - 1) in _NAMES:
        place = said.before_phrase(at - 1)
        subject = place - 1 if said.tag(place) == "IN" else -1
    else:
        subject = at - 1
    is_plural = said.tag(subject) == "NNS" and said.word(subject) not in _ATTRIBUTES
    if not (is_plural or said.word(subject) in _SUBJECTS):
        return False
    start, end = at, at + 1
    while start > max(0, at - _MAX_CLAUSE_WORDS) and not said.is_bound(start - 1):
        start -= 1
    while end < at + _MAX_CLAUSE_WORDS and said.tag(end) not in {"", "CC"} and not said.is_bound(end):
        end += 1
    return not any(said.tag(place) in _FINITE and said.tag(place - 1) != "JJ" for place in range(start, end))
