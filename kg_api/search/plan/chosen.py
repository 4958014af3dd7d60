"""The documents that a search names, or that its conditions choose, before it looks for anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph
from kg_api.graph.documents.called import CalledDocuments, documents_called
from kg_api.graph.documents.matching import asks_for_absence, describe_unknown_fields, matching_documents
from kg_api.graph.fulltext.queries import SCOPES_A_QUERY
from kg_api.graph.search.passages import Filters
from kg_api.models.queries.filters import Where
from kg_api.models.queries.search import Degradation, SourceSearch


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where to look."""

    filters: Filters
    matching: Mapping[str, Sequence[str]] | None = None
    """By ontology, the documents that are named and fit; None: none are, and there are no conditions."""
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


def choose(graph: Graph, request: SourceSearch, ontologies: Sequence[str]) -> Chosen:
    """Find the documents that a request names, and those of them for which its conditions hold.

    Args:
        graph: where they are.
        request: what is asked for.
        ontologies: those that are there of the ones that are searched.

    Raises:
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so; or
            the request names too many documents.
        Conflict: several documents' ids begin with digits that it names.
    """
    named = None if request.documents is None else documents_called(graph, request.documents, ontologies)
    if not request.where:
        if named is None:
            return Chosen(Filters(request.ontologies))
        return Chosen(Filters(request.ontologies, named.ids), named.of, named.unknown)
    return _fitting(graph, request.where, request.ontologies, named)


def _fitting(
    graph: Graph, where: Where, ontologies: Sequence[str] | None, named: CalledDocuments | None
) -> Chosen:
    within = None if named is None else named.ids
    matching = matching_documents(graph, where, ontologies, within)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes = [*named.unknown] if named is not None else []
    if not ids or asks_for_absence(where):
        notes += describe_unknown_fields(graph, where, ontologies)
    if not ids and (named is None or named.ids):
        notes.append(Degradation(part="query", effect="no document fits the conditions of the filter"))
    return Chosen(Filters(ontologies, ids), matching, notes)
