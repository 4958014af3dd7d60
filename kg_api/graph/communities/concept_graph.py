"""The concepts of an ontology and what carries them, read in portions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kg_api.graph.database import Graph

PORTION: Final = 5000
"""Concepts, or sources, that are read in one round trip."""
FEWEST_TIES: Final = 2
"""A concept of one source and no relationship belongs to nothing but that source."""


@dataclass(frozen=True, slots=True)
class OntologySize:
    concepts: int
    relationships: int
    sources: int
    written: int
    """Sources of documents that were written since the time that was given."""
    at: datetime
    """When it was counted, by the database's clock."""


@dataclass(frozen=True, slots=True)
class TiedConcept:
    """A concept that may be in a community."""

    concept_id: str
    related: list[tuple[str, int]]
    """Concepts that relationships or links go to, and how many."""


def read_size(graph: Graph, ontology: str, since: datetime | None = None) -> OntologySize:
    row = graph.read("communities/size", ontology=ontology, since=since)[0]
    return OntologySize(**{**row, "at": row["at"].to_native()})


def fewest_ties(graph: Graph, ontology: str, most: int) -> int:
    """How many ties a concept must have, two at least, so that no more concepts than that have them.

    Ties are the sources that carry it, and its relationships and links.
    """
    chosen, least = 0, FEWEST_TIES
    for row in graph.read("communities/ties", ontology=ontology):
        chosen += row["concepts"]
        if chosen > most:
            return max(least, row["ties"] + 1)
    return least


def read_tied(graph: Graph, ontology: str, least: int) -> Iterator[list[TiedConcept]]:
    """The concepts of so many ties, in the order of their ids, by portions."""
    after = ""
    while rows := graph.read(
        "communities/concepts", ontology=ontology, after=after, least=least, limit=PORTION
    ):
        after = rows[-1]["concept_id"]
        yield [
            TiedConcept(row["concept_id"], [(other, times) for other, times in row["related"]])
            for row in rows
            if row["tied"]
        ]


def read_carried(graph: Graph, ontology: str) -> Iterator[list[list[str]]]:
    """The ids of the concepts that each source carries, in reading order, by portions of sources."""
    place = {"after": "", "after_paragraph": -1}
    while rows := graph.read("communities/sources", ontology=ontology, **place, limit=PORTION):
        place = {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}
        yield [row["concept_ids"] for row in rows]
