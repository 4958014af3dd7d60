"""Words that searches of an ontology take for each other."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.models.base import Answer, Body, Text

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
    """What searches of an ontology take for each other."""

    ontology: str
    groups: list[list[str]]
