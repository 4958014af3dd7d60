"""Parts of speech of English words, by the tagger that TextBlob brings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Protocol, cast

_NAMES = ("NNP", "NNPS")
_PLAIN = ("VB", "VBP")


class _Tagger(Protocol):
    """What is used of TextBlob's parser."""

    lexicon: Mapping[str, str]

    def find_tags(self, tokens: list[str]) -> list[list[str]]: ...


def tags(words: list[str]) -> list[str]:
    """Tags (Penn Treebank) of a sentence's words and marks."""
    return [tag for _, tag in _tagger().find_tags(words)]


def is_common(word: str) -> bool:
    """Whether a word stands in the lexicon in small letters, as more than a name."""
    return _tagger().lexicon.get(word.lower(), _NAMES[0]) not in _NAMES


def is_known(word: str) -> bool:
    """Whether a folded word stands in the lexicon."""
    return word in _tagger().lexicon


def is_verb(word: str) -> bool:
    """Whether a folded word is a verb in its plain form, first of all."""
    return _tagger().lexicon.get(word, "") in _PLAIN


@cache
def _tagger() -> _Tagger:
    """Brill's tagger with its lexicon; loading takes seconds, so only when there is English."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves closing its lexicon to the collector
        from textblob.en import parser  # noqa: PLC0415 # pyright: ignore[reportUnknownVariableType]

        tagger = cast("_Tagger", parser)
        tagger.find_tags(["Reading", "the", "lexicon"])
    return tagger
