"""The documents that a search's conditions choose, before it looks for anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph
from kg_api.graph.filters.matching import asks_for_absence, describe_unknown_fields
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.fulltext.queries import SCOPES_A_QUERY
from kg_api.graph.search.passages import Filters
from kg_api.models.queries.filters import Clause
from kg_api.models.queries.search import Degradation, SourceSearch


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where to look."""

    filters: Filters
    matching: Mapping[str, Sequence[str]] | None = None
    """By ontology, the documents that fit; None: there are no conditions."""
    notes: Sequence[Degradation] = ()

    @property
    def _are_many(self) -> bool:
        return self.matching is not None and len(self.filters.document_ids or ()) > SCOPES_A_QUERY

    @property
    def in_queries(self) -> Sequence[str] | None:
        """Documents that full-text queries name."""
        return None if self._are_many else self.filters.document_ids

    @property
    def behind_queries(self) -> Sequence[str] | None:
        """Documents that what they find is filtered by: a query of very many names takes seconds (ADR 49)."""
        return self.filters.document_ids if self._are_many else None


def choose(graph: Graph, remembered: RememberedFilters, request: SourceSearch, filters: Filters) -> Chosen:
    """Find the documents for which a request's conditions hold.

    Raises:
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    return choose_documents(graph, remembered, request.where, filters) if request.where else Chosen(filters)


def choose_documents(
    graph: Graph, remembered: RememberedFilters, where: Sequence[Clause], filters: Filters
) -> Chosen:
    """Find the documents that fit conditions, of which there is one at least.

    Raises:
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    matching = remembered.matching(where, filters.ontologies, filters.document_ids)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes: list[Degradation] = []
    if not ids or asks_for_absence(where):
        notes += describe_unknown_fields(graph, where, filters.ontologies)
    if not ids:
        notes.append(Degradation(part="query", effect="no document fits the conditions of the filter"))
    return Chosen(Filters(filters.ontologies, ids), matching, notes)
