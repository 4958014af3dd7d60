"""What each word of a sentence is, as far as a language lets it be told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

from kg_api.extract.keyphrase.background import zipf
from kg_api.extract.keyphrase.lists import lists
from kg_api.extract.keyphrase.tagging.english import is_known, tags
from kg_api.extract.keyphrase.tagging.tags import TaggedSentence, correct_tags
from kg_api.extract.keyphrase.words import Token

Kind = Literal["noun", "plural", "before", "classifying", "common", "verb", "unknown", "other"]
"""A noun; an English one in the plural, in small letters; what may stand before a noun; a German adjective
that is part of a term, and one that is not; an English form in -ing; a word in small letters of a language
whose words are not known; anything else."""

_BEFORE_ADJECTIVES = frozenset({"", "DT", "PRP$", "JJ", "IN", "CC", "CD", "POS", "(", '"'})
"""Tags (Penn Treebank) after which a participle says something of the noun behind it."""
_BEHIND_NOUNS = frozenset({".", ",", ":", ")", "VBZ", "VBP", "VBD", "MD", "CC"})
_DESCRIBED = frozenset({"DT", "PRP$", "JJ", "VBN"})
_ENDS = frozenset({".", ",", ")", "CC"})
_WITHIN = frozenset({",", ";", "(", "'s", "’s", "/"})
_GERMAN_ENDINGS = ("e", "er", "en", "es", "em")
_COMMON_ADJECTIVE = 4.0
_LONG_WORD = 3
_NAME = "NNP"
_NOUNS = frozenset({"NN", "NNS"})


def goes_on(before: Token) -> bool:
    """Whether the word behind this one is in the middle of a sentence, so that its capital says something."""
    return before.is_word or before.text in _WITHIN


def is_title(sentence: Sequence[Token]) -> bool:
    """Whether a line writes all its longer words with capitals, so that they say nothing."""
    long = [token for token in sentence if token.is_word and len(token.text) > _LONG_WORD]
    return len(long) > 1 and all(token.is_capital for token in long)


def kinds_of(sentences: Sequence[Sequence[Token]], language: str) -> list[list[Kind]]:
    """Tell what each word of a document's sentences is."""
    if language == "en":
        owns = [_own_capitals(each) for each in sentences]
        tagged = correct_tags([_tag(each, own) for each, own in zip(sentences, owns, strict=True)])
        return [_english(*each) for each in zip(sentences, owns, tagged, strict=True)]
    if language == "de":
        return [
            [_german(token, after, at) for at, (token, after) in enumerate(zip_longest(each, each[1:]))]
            for each in sentences
        ]
    return [[_any(token) for token in each] for each in sentences]


def _own_capitals(sentence: Sequence[Token]) -> list[bool]:
    title = is_title(sentence)
    return [
        not title and at > 0 and token.is_capital and goes_on(sentence[at - 1])
        for at, token in enumerate(sentence)
    ]


def _tag(sentence: Sequence[Token], own: Sequence[bool]) -> TaggedSentence:
    said = [
        token.text if is_own or not token.text.istitle() else token.text.lower()
        for token, is_own in zip(sentence, own, strict=True)
    ]
    folded = [each.casefold() for each in said]
    return TaggedSentence(
        folded,
        [
            _NAME if tag in _NOUNS and _is_name(token, word) else tag
            for token, word, tag in zip(sentence, folded, tags(said), strict=True)
        ],
    )


def _is_name(token: Token, folded: str) -> bool:
    """Whether a word with a capital is no common one, wherever it stands."""
    return token.is_capital and (token.text.isupper() or not is_known(folded))


def _english(sentence: Sequence[Token], own: Sequence[bool], said: Sequence[str]) -> list[Kind]:
    tagged = ["", *said, "."]
    return [
        _english_kind(token, is_own, tagged[at : at + 3])
        for at, (token, is_own) in enumerate(zip(sentence, own, strict=True))
    ]


def _english_kind(token: Token, own_capital: bool, around: Sequence[str]) -> Kind:
    _, tag, after = around
    if not token.is_word:
        return "other"
    if own_capital:
        return "before" if tag == "JJ" and token.text.isalpha() and not after.startswith("NNP") else "noun"
    if tag.startswith("NN"):
        is_plural = tag == "NNS" and token.text.islower() and token.text[-1] == "s"
        return "plural" if is_plural else "noun"
    return "noun" if _is_mistaken(token, *around) else _describing(*around)


def _describing(before: str, tag: str, after: str) -> Kind:
    """The kind of a word that is no noun by its tag."""
    if tag == "VBN":  # "the published interface", but not "books published in Paris"
        return "before" if before in _BEFORE_ADJECTIVES else "other"
    if tag == "VBG":
        return _ing(before, after)
    return "before" if tag in {"JJ", "FW"} else "other"


def _is_mistaken(token: Token, before: str, tag: str, after: str) -> bool:
    """Whether the tagger took a noun for something else: "the test set.", "the idempotency key stays"."""
    if not _is_plain_noun(token):
        return False
    if tag == "JJ":
        return before in {"NN", "JJ"} and not after.startswith(("NN", "JJ"))
    return before in {"NN", "NNS"} and after in (_BEHIND_NOUNS if tag == "VBN" else _ENDS)


def _is_plain_noun(token: Token) -> bool:
    """Whether a word that the tagger took for another is a noun more often than an adjective."""
    return token.text in lists().nouns and token.text not in lists().weak


def _ing(before: str, after: str) -> Kind:
    """A noun in "prompt caching reduces costs" and "early stopping of", none in "people running it"."""
    if before in _DESCRIBED and after.startswith("NN"):  # "a learning rate"
        return "before"
    if before in _DESCRIBED and (after in _BEHIND_NOUNS or after == "IN"):
        return "noun"
    if not before.startswith("NN"):
        return "verb"
    return "noun" if after in _BEHIND_NOUNS else "other"


def _german(token: Token, after: Token | None, at: int) -> Kind:
    if not token.is_word:
        return "other"
    is_adjective = token.text.endswith(_GERMAN_ENDINGS) and after is not None and after.is_capital
    if token.is_capital:
        return "common" if at == 0 and is_adjective and _is_common_adjective(token.text.lower()) else "noun"
    if not is_adjective:
        return "other"
    return "common" if _is_common_adjective(token.text) else "classifying"


def _is_common_adjective(word: str) -> bool:
    """Whether a German word that is inflected as adjectives are says nothing of a field."""
    stem = next(word.removesuffix(ending) for ending in (*_GERMAN_ENDINGS[1:], "e") if word.endswith(ending))
    return max(zipf(f"{stem}{ending}", "de") or 0 for ending in ("", *_GERMAN_ENDINGS)) >= _COMMON_ADJECTIVE


def _any(token: Token) -> Kind:
    if not token.is_word:
        return "other"
    return "noun" if token.is_capital else "unknown"
