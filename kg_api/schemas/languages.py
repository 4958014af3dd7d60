"""The language of an ontology's texts, for full text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.schemas.base import Answer, Body, Text
from kg_api.schemas.vocabulary import TextLanguage

_NAMES = (
    "ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, es spanish, fa persian, "
    "fi finnish, fr french, hi hindi, hu hungarian, id indonesian, it italian, nl dutch, no norwegian, "
    "pl polish, pt portuguese, ro romanian, ru russian, sv swedish, tr turkish"
)
LANGUAGE_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {pair[:2]: pair[3:] for pair in _NAMES.split(", ")}
)
"""The names that stemmers and lists of stop words have, by ISO 639-1; those for which there are both."""


class LanguageChoice(Body):
    language: TextLanguage
    """`auto`: told by each text, for nine languages; or the one that all texts of the ontology are in."""


class OntologyLanguage(Answer):
    ontology: str
    language: TextLanguage
    complete: bool
    """Whether all sources are indexed so; if not, the same request goes on with it."""
    indexed: int = 0
    """Sources that this request looked at, and indexed anew where that changes anything."""


# Words that searches of an ontology take for each other.

MAX_GROUPS = 500
MAX_IN_GROUP = 10
MAX_CHARACTERS = 100
BETWEEN = "="
"""Between the words of a group as they are stored, and as the command line takes them: `k8s = kubernetes`."""


def _plain(word: str) -> str:
    if BETWEEN in word or not any(character.isalnum() for character in word):
        raise ValueError(f"{word!r} has no letter or digit, or {BETWEEN!r} in it")
    return word


Synonym = Annotated[
    Text,
    StringConstraints(min_length=1, max_length=MAX_CHARACTERS, strip_whitespace=True),
    AfterValidator(_plain),
]
Group = Annotated[list[Synonym], Field(min_length=2, max_length=MAX_IN_GROUP)]


class SynonymList(Body):
    """All of an ontology; an empty list takes away what there was."""

    groups: Annotated[list[Group], Field(max_length=MAX_GROUPS)]
    """Words, or several words in a row, that are taken for each other: `["k8s", "kubernetes"]`."""


class Synonyms(Answer):
    ontology: str
    groups: list[list[str]]
