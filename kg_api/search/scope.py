"""Search scope: documents that are selected by filters, and the spaces to use for the ontologies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg_api.graph.client import Graph
from kg_api.graph.filters import (
    RememberedFilters,
    filter_sources,
    list_matching_document_ids,
    matches_absent_field,
    split_clauses,
)
from kg_api.graph.fulltext import SCOPES_A_QUERY
from kg_api.graph.names import find_documents_by_name
from kg_api.graph.search import Filters
from kg_api.graph.spaces import Space
from kg_api.schemas.filters import Clause, Narrowed
from kg_api.schemas.search import Degradation, SourceSearch
from kg_api.schemas.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.spaces.snapshot import OntologySnapshot

# Document selection by name and by conditions


@dataclass(frozen=True, slots=True)
class Chosen:
    filters: Filters
    matching: Mapping[str, Sequence[str]] | None = None
    """Matching documents by ontology. None: there is no document filter."""
    notes: Sequence[Degradation] = ()

    @property
    def behind_queries(self) -> Sequence[str] | None:
        """Documents to filter the results after a query.

        A query with very many names takes seconds (ADR 49).
        """
        ids = self.filters.document_ids
        return ids if self.matching is not None and ids and len(ids) > SCOPES_A_QUERY else None

    @property
    def in_queries(self) -> Sequence[str] | None:
        """Documents to use in full-text queries."""
        return None if self.behind_queries else self.filters.document_ids


def choose(
    graph: Graph,
    remembered: RememberedFilters,
    request: Narrowed,
    ontologies: Sequence[str],
    *,
    whole_documents: bool = False,
) -> Chosen:
    """Find the documents that a request names and that match the conditions.

    `ontologies` contains the existing ontologies of the search. With `whole_documents`, conditions on sources
    select whole documents.

    Raises:
        NotFound: A requested document does not exist.
        InvalidInput: A condition uses an unknown field that resembles a known one, or the request names too
            many documents.
        Conflict: An id prefix is ambiguous.
    """
    named = (
        None if request.documents is None else find_documents_by_name(graph, request.documents, ontologies)
    )
    ids = None if named is None else [each for of_ontology in named.values() for each in of_ontology]
    within = Filters(request.ontologies, ids)
    if not request.where:
        return Chosen(within, named)
    if whole_documents:
        return choose_documents(remembered, request.where, within)
    return choose_sources(graph, remembered, request.where, within, named)


def choose_documents(remembered: RememberedFilters, where: Sequence[Clause], within: Filters) -> Chosen:
    """Find the documents that match the clauses. `where` must not be empty.

    Raises:
        InvalidInput: A condition uses an unknown field that resembles a known one.
    """
    matching = remembered.match(where, within.ontologies, within.document_ids)
    ids = [each for of_ontology in matching.values() for each in of_ontology]
    notes: list[Degradation] = []
    if not ids or matches_absent_field(where):
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
    """Find the documents that match conditions, and the filter to use for their sources.

    `where` must not be empty. `named` contains the documents of `within` by ontology.

    Raises:
        InvalidInput: A condition uses an unknown field that resembles a known one.
    """
    of_documents, of_sources = split_clauses(where)

    def matching(clauses: Sequence[Clause]) -> list[str]:
        found = remembered.match(clauses, within.ontologies, within.document_ids)
        return [each for ids in found.values() for each in ids]

    chosen = choose_documents(remembered, of_documents, within) if of_documents else Chosen(within, named)
    if not of_sources:
        return chosen
    notes = [*chosen.notes]
    if matches_absent_field(of_sources):
        notes += remembered.describe_unknown_fields(of_sources, within.ontologies)
    sources, ids = filter_sources(of_sources, matching), chosen.filters.document_ids
    if ids != [] and not list_matching_document_ids(graph, sources, within.ontologies, ids, sources=1):
        notes += remembered.describe_unknown_fields(of_sources, within.ontologies)
        notes.append(Degradation(part="query", effect="no passage fits the conditions of the filter"))
    unique = [each for at, each in enumerate(notes) if each not in notes[:at]]
    return Chosen(replace(chosen.filters, sources=sources), chosen.matching, unique)


# Spaces of a search


@dataclass(frozen=True, slots=True)
class SpaceScope:
    """Part of a search that uses the same space."""

    space: Space
    filters: Filters


@dataclass(frozen=True, slots=True)
class Scope:
    spaces: list[SpaceScope]
    elsewhere: dict[str, str]
    """Index slots for ontologies that are not in the first slot of the first space."""
    left_out: list[str]  # ontologies that the client's vector cannot search
    unknown: Sequence[Degradation] = ()
    """Notes on ontologies or documents that are missing."""
    answering: Mapping[str, str] = field(default_factory=dict[str, str])
    """Space to use for each ontology, also for those that are not searched."""
    new: str = FIRST_SLUG  # space of new ontologies
    ontologies: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Ontologies to search, by space."""

    @property
    def names(self) -> list[str]:
        return [name for names in self.ontologies.values() for name in names]

    def get_space(self, ontology: str) -> str:
        return self.answering.get(ontology, self.new)

    def get_key(self, ontology: str) -> str:
        """Get the active space and index slot for an ontology."""
        return self.elsewhere.get(ontology, FIRST_SLUG)

    @property
    def calibrations(self) -> dict[str, SimilarityCalibration | None]:
        """Calibration to use for a similarity, by space."""
        return {each.space.slug: each.space.calibration for each in self.spaces}

    @property
    def slugs(self) -> list[str]:
        return list(dict.fromkeys(each.space.slug for each in self.spaces))

    def list_indexes(self, space: Space) -> list[str]:
        """List the vector indexes to query with a vector from a model."""
        return [each.space.index_name for each in self.spaces if each.space.slug == space.slug]

    @property
    def models(self) -> list[Space]:
        """Spaces that have different models. Both index slots in a space use the same model."""
        return [*{each.space.slug: each.space.at("") for each in self.spaces}.values()]


def build_scope(
    request: SourceSearch,
    filters: Filters,
    known: OntologySnapshot,
    unknown: Sequence[Degradation] = (),
    matching: Mapping[str, Sequence[str]] | None = None,
) -> Scope:
    """Group the search by space. If the client has sent a vector, only use its space.

    `matching` contains the documents that match the request, by ontology. None: no document filter.
    """
    answering, ontologies = known.answering, filters.ontologies
    spaces = {space.key: space for space in (known.new, *answering.values())}
    groups: dict[str, list[str]] = {}
    for name in answering if ontologies is None else ontologies:  # a missing ontology returns nothing
        groups.setdefault(known.get_space(name).key, []).append(name)
    groups = groups or {known.new.key: []}
    vector = request.query_vector
    own = {key: names for key, names in groups.items() if vector is None or spaces[key].slug == request.space}
    searched: dict[str, list[str]] = {}
    scopes: list[SpaceScope] = []
    for key, names in (own or groups).items():
        searched.setdefault(spaces[key].slug, []).extend(names)
        within = filters
        if matching is not None:
            within = Filters(names, [each for name in names for each in matching.get(name, ())])
        elif ontologies is not None or len(groups) > 1:
            within = Filters(names, None)
        scopes.append(SpaceScope(spaces[key], within))
    return Scope(
        spaces=scopes,
        elsewhere={name: space.key for name, space in answering.items() if space.key != FIRST_SLUG},
        unknown=unknown,
        answering={name: space.slug for name, space in answering.items()},
        new=known.new.slug,
        ontologies=searched,
        left_out=sorted(name for key, names in groups.items() if own and key not in own for name in names),
    )
