"""Language and synonyms of an ontology for full-text search."""

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
"""Names by ISO 639-1 code of languages with a stemmer and stop words."""


class LanguageChoice(Body):
    language: TextLanguage
    """Language of all texts in the ontology. `auto`: kg detects one of nine languages for each text."""


class OntologyLanguage(Answer):
    ontology: str
    language: TextLanguage
    complete: bool
    """Whether all sources are indexed for the language. If false, repeat the request to continue."""
    indexed: int = 0
    """Number of sources that this request checked and reindexed if necessary."""


# Synonyms

MAX_GROUPS = 500
MAX_IN_GROUP = 10
MAX_CHARACTERS = 100
BETWEEN = "="  # separator between synonyms in storage and in the CLI: `k8s = kubernetes`


def _to_plain(word: str) -> str:
    if BETWEEN in word or not any(character.isalnum() for character in word):
        raise ValueError(f"{word!r} has no letter or digit, or contains {BETWEEN!r}")
    return word


Synonym = Annotated[
    Text,
    StringConstraints(min_length=1, max_length=MAX_CHARACTERS, strip_whitespace=True),
    AfterValidator(_to_plain),
]
Group = Annotated[list[Synonym], Field(min_length=2, max_length=MAX_IN_GROUP)]


class SynonymList(Body):
    """Synonyms of an ontology. They replace the stored ones. An empty list deletes all."""

    groups: Annotated[list[Group], Field(max_length=MAX_GROUPS)]
    """Groups of synonyms: words or phrases such as `["k8s", "kubernetes"]`."""


class Synonyms(Answer):
    ontology: str
    groups: list[list[str]]
