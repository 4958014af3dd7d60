"""What a question may name: words in a row, and of scripts without spaces characters in a row. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from kg_api.models.identity import concept_name
from kg_api.wording.scripts import UNSPACED

MAX_NAME_WORDS = 6
"""Words of a name that is looked for in the question."""
MIN_NAME_CHARACTERS = 3
MAX_WORDS = 100
"""Words of the question whose combinations are looked up as names."""
UNSPACED_NAME = range(2, 13)
"""Characters of a name that is written without spaces; foreign names have one where concept_name puts it."""
MAX_UNSPACED = 100
"""Characters of the question whose combinations are looked up."""

_UNSPACED = regex.compile(rf"[{UNSPACED}ー]")
_RUN = regex.compile(rf"[{UNSPACED}ー]+(?: [{UNSPACED}ー]+)*")


def names_in(text: str) -> Iterator[str]:
    """What may be the name of a concept in a question: up to six words in a row, the longest first.

    Of scripts without spaces up to twelve characters in a row; each name once.
    """
    words = concept_name(text).split()[:MAX_WORDS]
    yield from dict.fromkeys((*_spaced_names(words), *_unspaced_names(" ".join(words))))


def is_named_within(name: str, other: str) -> bool:
    """Whether a folded name is a part of another one, and no other one itself."""
    if name == other:
        return False
    return name in other if _UNSPACED.match(name) else f" {name} " in f" {other} "


def is_unspaced(text: str) -> bool:
    """Whether most of a text's letters are of scripts without spaces."""
    letters = sum(map(str.isalpha, text))
    return 2 * len(_UNSPACED.findall(text)) > letters


def _spaced_names(words: Sequence[str]) -> Iterator[str]:
    for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            name = " ".join(words[at : at + length])
            if len(name) >= MIN_NAME_CHARACTERS:
                yield name


def _unspaced_names(text: str) -> Iterator[str]:
    left = MAX_UNSPACED
    for found in _RUN.finditer(text):
        run = found[0][: max(left, 0)]
        left -= len(run)
        for length in reversed(UNSPACED_NAME):
            for at in range(len(run) - length + 1):
                name = run[at : at + length]
                if name == name.strip():
                    yield name
