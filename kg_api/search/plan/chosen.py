"""The documents that a search names, or that its conditions choose, before it looks for anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kg_api.graph.database import Graph
from kg_api.graph.documents.called import documents_called
from kg_api.graph.filters.matching import asks_for_absence
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.filters.sources import documents_having, filter_sources, split_clauses
from kg_api.graph.fulltext.queries import SCOPES_A_QUERY
from kg_api.graph.search.passages import Filters
from kg_api.models.queries.filters import Clause
from kg_api.models.queries.search import Degradation


class Narrowing(Protocol):
    """What of a request says where to look."""

    @property
    def ontologies(self) -> Sequence[str] | None:
        """Only in these; None: in all."""
        ...

    @property
    def documents(self) -> Sequence[str] | None:
        """What documents are called; None: all."""
        ...

    @property
    def where(self) -> Sequence[Clause] | None: ...


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


def choose(
    graph: Graph,
    remembered: RememberedFilters,
    request: Narrowing,
    ontologies: Sequence[str],
    *,
    whole_documents: bool = False,
) -> Chosen:
    """Find the documents that a request names, and what of them fits its conditions.

    Args:
        graph: where they are.
        remembered: what filters chose a moment ago.
        request: what is asked for.
        ontologies: those that are there of the ones that are searched.
        whole_documents: whether conditions on sources select documents.

    Raises:
        NotFound: a document that the request names is not there.
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so; or
            the request names too many documents.
        Conflict: several documents' ids begin with digits that it names.
    """
    named = None if request.documents is None else documents_called(graph, request.documents, ontologies)
    ids = None if named is None else [each for of_ontology in named.values() for each in of_ontology]
    within = Filters(request.ontologies, ids)
    if not request.where:
        return Chosen(within, named)
    if whole_documents:
        return choose_documents(remembered, request.where, within)
    return choose_sources(graph, remembered, request.where, within, named)


def choose_documents(remembered: RememberedFilters, where: Sequence[Clause], within: Filters) -> Chosen:
    """Find the documents that fit conditions, of which there is one at least.

    Raises:
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    matching = remembered.matching(where, within.ontologies, within.document_ids)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes: list[Degradation] = []
    if not ids or asks_for_absence(where):
        notes += remembered.describe_unknown_fields(where, within.ontologies)
    if not ids and within.document_ids != []:
        notes.append(Degradation(part="query", effect="no document fits the conditions of the filter"))
    return Chosen(Filters(within.ontologies, ids), matching, notes)


def choose_sources(
    graph: Graph,
    remembered: RememberedFilters,
    where: Sequence[Clause],
    within: Filters,
    named: Mapping[str, Sequence[str]] | None = None,
) -> Chosen:
    """Find the documents that fit conditions, and which of their sources are wanted.

    Args:
        graph: where they are.
        remembered: what filters chose a moment ago.
        where: the conditions, of which there is one at least.
        within: where to look.
        named: by ontology, the documents of `within`, if it names any.

    Raises:
        InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
    """
    of_documents, of_sources = split_clauses(where)

    def matching(clauses: Sequence[Clause]) -> list[str]:
        found = remembered.matching(clauses, within.ontologies, within.document_ids)
        return [each for ids in found.values() for each in ids]

    chosen = choose_documents(remembered, of_documents, within) if of_documents else Chosen(within, named)
    if not of_sources:
        return chosen
    notes = [*chosen.notes]
    if asks_for_absence(of_sources):
        notes += remembered.describe_unknown_fields(of_sources, within.ontologies)
    sources, ids = filter_sources(of_sources, matching), chosen.filters.document_ids
    if ids != [] and not documents_having(graph, sources, within.ontologies, ids, sources=1):
        notes += remembered.describe_unknown_fields(of_sources, within.ontologies)
        notes.append(Degradation(part="query", effect="no passage fits the conditions of the filter"))
    unique = [each for at, each in enumerate(notes) if each not in notes[:at]]
    return Chosen(replace(chosen.filters, sources=sources), chosen.matching, unique)
