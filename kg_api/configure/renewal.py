"""Which sources a filter has embedded anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph, Transaction, portions
from kg_api.graph.filters.matching import (
    asks_for_absence,
    describe_unknown_fields,
    matching_documents,
)
from kg_api.graph.search.similar import count_sources
from kg_api.graph.spaces.marks import Mark, renew_documents
from kg_api.models.embedding.regeneration import Regeneration

MAX_RENEWED: Final = 200_000
"""Sources of one request: they are marked in one transaction, with the job that embeds them."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """The documents that fit a filter, by ontology, and how many sources those have."""

    documents: Mapping[str, Sequence[str]]
    sources: Mapping[str, int]
    notes: Sequence[str]

    def mark(self, tx: Transaction, ontology: str, mark: Mark) -> int:
        """Let the sources of one ontology be embedded anew, and not from the cache; how many.

        A search finds them as they are until then.
        """
        parts = portions(self.documents[ontology], 1000)
        return sum(renew_documents(tx, ontology, part, mark) for part in parts)


def choose_sources(graph: Graph, asked: Regeneration) -> Renewal:
    """What fits the conditions of a request.

    Raises:
        InvalidInput: more sources than one request renews, or a condition is of a field that no document has
            and another one is called nearly so.
    """
    where, ontologies = asked.where or [], [asked.ontology] if asked.ontology else None
    documents = matching_documents(graph, where, ontologies)
    sources = {name: count_sources(graph, [name], ids) for name, ids in documents.items()}
    if (total := sum(sources.values())) > MAX_RENEWED:
        raise InvalidInput(
            f"{total:,} sources fit the filter, and {MAX_RENEWED:,} at most are embedded anew at once: "
            "narrow it down, or leave it out to embed whole ontologies anew"
        )
    told: list[str] = []
    if not total or asks_for_absence(where):
        told = [each.effect for each in describe_unknown_fields(graph, where, ontologies)]
    return Renewal(documents, sources, told if total else [*told, "no document fits the filter"])
