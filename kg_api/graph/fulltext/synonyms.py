"""Words that an ontology takes for each other: stored with it, added to questions. The last part is pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.models.words.synonyms import BETWEEN

MAX_ADDED = 16
"""Words that are added to one question."""

Groups = Sequence[Sequence[str]]
_WORDS = re.compile(r"(?<!\S)\.\w+|\w+(?:\+\+|[+#]+(?![+#\w]))?")
"""Signs that make another word are of it: C, C++ and C#; net and .NET."""


def read_synonyms(graph: Graph, ontology: str) -> Groups:
    """Of one ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    found = graph.read("ontologies/synonyms", name=ontology)
    if not found:
        raise unknown_ontology(graph, ontology)
    return _groups(found[0]["synonyms"])


@dataclass(frozen=True, slots=True)
class OntologyWords:
    """What an ontology says of its words."""

    synonyms: Groups = ()
    language: str | None = None
    """Of all its sources; None: each has its own."""


def all_words(graph: Graph) -> Mapping[str, OntologyWords]:
    """Of all ontologies that say anything."""
    rows = graph.read("ontologies/synonyms", name=None)
    return {row["ontology"]: OntologyWords(_groups(row["synonyms"]), row["language"]) for row in rows}


def write_synonyms(tx: Transaction, ontology: str, groups: Groups) -> None:
    """In the place of those there are.

    Raises:
        NotFound: there is no such ontology.
    """
    stored = [BETWEEN.join(group) for group in groups]
    if not tx.run("ontologies/set_synonyms", name=ontology, synonyms=stored):
        raise unknown_ontology(tx, ontology)


def synonyms_in(text: str, groups: Iterable[Sequence[str]]) -> list[str]:
    """What is added to a question: the others of each group of which it has one, each once, sixteen at most.

    Case does not count; several words count where they stand in a row.
    """
    asked = _in_a_row(text)
    added: dict[str, str] = {}
    for group in groups:
        spelt = {word: _in_a_row(word) for word in group}
        if any(own in asked for own in spelt.values()):
            added |= {row: word for word, row in spelt.items() if row not in asked}
    return [*added.values()][:MAX_ADDED]


def _in_a_row(text: str) -> str:
    """Its words, a blank around each, so that one is found as a whole."""
    return f" {' '.join(_WORDS.findall(unicodedata.normalize('NFC', text).casefold()))} "


def _groups(stored: Iterable[str]) -> Groups:
    return [each.split(BETWEEN) for each in stored]
