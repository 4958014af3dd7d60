"""Where a search looks: documents that filters choose, and the spaces of its ontologies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kg_api.graph.client import Graph
from kg_api.graph.filters import (
    RememberedFilters,
    asks_for_absence,
    documents_having,
    filter_sources,
    split_clauses,
)
from kg_api.graph.fulltext import SCOPES_A_QUERY
from kg_api.graph.names import documents_called
from kg_api.graph.search import Filters
from kg_api.graph.spaces import Space
from kg_api.schemas.filters import Clause
from kg_api.schemas.search import Degradation, SourceSearch
from kg_api.schemas.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.spaces.snapshot import OntologySnapshot

# The documents that a search names, or that its conditions choose, before it looks for anything.


class Narrowing(Protocol):
    """What of a request says where to look; None: everywhere."""

    @property
    def ontologies(self) -> Sequence[str] | None: ...

    @property
    def documents(self) -> Sequence[str] | None:
        """What documents are called."""
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
    def behind_queries(self) -> Sequence[str] | None:
        """Documents that what they find is filtered by: a query of very many names takes seconds (ADR 49)."""
        ids = self.filters.document_ids
        return ids if self.matching is not None and ids and len(ids) > SCOPES_A_QUERY else None

    @property
    def in_queries(self) -> Sequence[str] | None:
        """Documents that full-text queries name."""
        return None if self.behind_queries else self.filters.document_ids


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


# Which spaces a search looks into, and what of each. Pure.


@dataclass(frozen=True, slots=True)
class SpaceScope:
    """What is searched by one space's vectors."""

    space: Space
    filters: Filters


@dataclass(frozen=True, slots=True)
class Scope:
    """All that is searched by vectors."""

    spaces: list[SpaceScope]
    elsewhere: dict[str, str]
    """Where the ontologies' vectors are that are not in the first space's first slot."""
    left_out: list[str]
    """Ontologies that a client's own vector cannot search."""
    unknown: Sequence[Degradation] = ()
    """That ontologies or documents which are asked for are not there."""
    answering: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of all ontologies: the space that each answers by."""
    new: str = FIRST_SLUG
    """The space of an ontology that is not there."""
    ontologies: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By space: those that are searched by its model."""

    @property
    def names(self) -> list[str]:
        return [name for names in self.ontologies.values() for name in names]

    def space_of(self, ontology: str) -> str:
        """The space that an ontology answers by."""
        return self.answering.get(ontology, self.new)

    def key_of(self, ontology: str) -> str:
        """The space and slot that an ontology answers by."""
        return self.elsewhere.get(ontology, FIRST_SLUG)

    @property
    def calibrations(self) -> dict[str, SimilarityCalibration | None]:
        """By space: what its model's cosines mean."""
        return {each.space.slug: each.space.calibration for each in self.spaces}

    @property
    def slugs(self) -> list[str]:
        """Of the spaces that are searched."""
        return list(dict.fromkeys(each.space.slug for each in self.spaces))

    def indexes(self, space: Space) -> list[str]:
        """The vector indexes that are asked with a model's vector."""
        return [each.space.index_name for each in self.spaces if each.space.slug == space.slug]

    @property
    def models(self) -> list[Space]:
        """One space for each model that is asked; both slots of a space have the same."""
        return [*{each.space.slug: each.space.at("") for each in self.spaces}.values()]


def scope_of(
    request: SourceSearch,
    filters: Filters,
    known: OntologySnapshot,
    unknown: Sequence[Degradation] = (),
    matching: Mapping[str, Sequence[str]] | None = None,
) -> Scope:
    """Group what is asked for by what answers; with a client's vector only its own space is searched.

    Args:
        request: what is asked for.
        filters: where to look.
        known: all ontologies.
        unknown: what of the filters is not there.
        matching: the documents that the request names or that fit its conditions, by ontology; None: all do.
    """
    answering, ontologies = known.answering, filters.ontologies
    spaces = {space.key: space for space in (known.new, *answering.values())}
    groups: dict[str, list[str]] = {}
    for name in answering if ontologies is None else ontologies:  # one that is not there finds nothing
        groups.setdefault(known.space_of(name).key, []).append(name)
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
