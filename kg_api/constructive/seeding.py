"""Seeds: what a query begins with, found by the searches there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from kg_api.concepts.network.ends import ID
from kg_api.concepts.relations.search import RelationshipSearcher
from kg_api.concepts.service import ConceptService
from kg_api.constructive.progress import QueryProgress
from kg_api.constructive.proving import appearing_in, stated_by
from kg_api.constructive.working_set import WorkingEdge, WorkingNode
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.concepts.reads import find_concept
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_source
from kg_api.models.concepts.queries import Concept, nearest_labels
from kg_api.models.concepts.relations import RelationshipHit, RelationshipSearch
from kg_api.models.constructive.query import SeedStep
from kg_api.models.constructive.subgraph import Reached
from kg_api.models.identity import ID_DIGITS, concept_name
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation, SourceSearch
from kg_api.models.vocabulary import MAX_ONTOLOGIES, SeedKind
from kg_api.search.service import SearchService
from kg_api.wording.plural import pluralize

T = TypeVar("T")
DIGITS = re.compile(rf"[0-9a-f]{{8,{ID_DIGITS}}}")
"""An id, or a beginning of one."""
CANDIDATES = 50
"""Hits among which those are looked for that a phrase may mean."""
MAX_REASONS = 3
"""Of what a search could not do, that are told where it found nothing."""


class Seeder:
    def __init__(
        self,
        graph: Graph,
        search: SearchService,
        concepts: ConceptService,
        relationships: RelationshipSearcher,
    ) -> None:
        self._graph = graph
        self._search = search
        self._concepts = concepts
        self._relationships = relationships
        self._ways: dict[SeedKind, Callable[[SeedStep, int, QueryProgress], int]] = {
            "text": self._by_text,
            "concept": self._by_concept,
            "relationship": self._by_relationship,
            "source": self._by_source,
            "image": self._by_source,
        }

    def seed(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        """Bring seeds; how many are new.

        Raises:
            NotFound: no concept fits, or there is no such source.
            Conflict: several sources are called so, or several ids begin so.
            InvalidInput: what is named is of another ontology or document than the query sees, or a source
                that is to be a picture is none.
        """
        return self._ways[step.by](step, number, progress)

    def _by_text(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        query = progress.query
        found = self._search.search(
            SourceSearch(
                query_text=step.value,
                ontology=query.ontology,
                documents=query.documents,
                where=[*(query.where or ()), *(step.where or ())] or None,
                kinds=step.kinds,
                mode=step.mode,
                limit=step.limit,
            )
        )
        progress.note_degraded(found.degraded)
        if found.note:
            progress.note_degraded([Degradation(part="query", effect=found.note)])
        if not found.sources:
            progress.unseen += [each.effect for each in found.degraded if each.part == "query"]
        return progress.add([_of_source(each, number, at) for at, each in _ranked(found.sources)], step.limit)

    def _by_concept(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        named = self._by_id(step.value)
        found, is_phrase = (named, False) if named else self._meant(step, progress)
        seen = self._within_documents(found, progress)
        taken = [each for each in seen if each.ontology in progress.ontologies]
        if not taken:
            raise _not_seen(step.value, found[0].ontology, progress)
        if is_phrase:
            progress.note_degraded([_describe_taken(step.value, taken[: step.limit])])
        nodes = [_of_concept(each.concept_id, each.ontology, number, at) for at, each in _ranked(taken)]
        return progress.add(nodes, step.limit)

    def _by_id(self, value: str) -> Sequence[Concept]:
        """The concept of an id, or of digits that only one begins with; none where it may be a word.

        Raises:
            NotFound: it is an id, and none has it.
            Conflict: several ids begin so.
        """
        if not DIGITS.fullmatch(value):
            return []
        try:
            return [find_concept(self._graph, value)]
        except NotFound:
            if ID.fullmatch(value):
                raise
            return []

    def _meant(self, step: SeedStep, progress: QueryProgress) -> tuple[Sequence[Concept], bool]:
        """The concepts of the very name, else those also called so, else those that fit; whether these."""
        found = self._concepts.search(step.value, _named(progress), max(CANDIDATES, step.limit))
        also_called = [each for each in found.concepts if each.fits == "name"]
        name = concept_name(step.value)
        called = [each for each in also_called if concept_name(each.label) == name] or also_called
        taken = called or [each for each in found.concepts if each.fits]
        if not taken:
            why = "".join(f"; {each.effect}" for each in found.degraded[:MAX_REASONS])
            raise NotFound(
                f"no concept fits {step.value!r}{nearest_labels(found.concepts)}; begin with a seed by "
                f"'text', or look for one with `kg concept search`{why}"
            )
        return taken, not called

    def _within_documents(self, found: Sequence[Concept], progress: QueryProgress) -> Sequence[Concept]:
        """Those that appear in the documents that the query sees."""
        ids = progress.filters.document_ids
        if ids is None:
            return found
        within = appearing_in(self._graph, [each.concept_id for each in found], ids, progress)
        return [each for each in found if each.concept_id in within]

    def _by_relationship(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        within, ids = _named(progress), progress.filters.document_ids
        if within is not None and len(within) > MAX_ONTOLOGIES:
            progress.note_degraded([_describe_many(within)])
        asked = RelationshipSearch(
            query_text=step.value,
            ontologies=within and within[:MAX_ONTOLOGIES],
            limit=step.limit,
        )
        found = self._relationships.search(asked, progress.document_ids)
        progress.note_degraded(found.degraded)
        edges = [_edge(hit, number) for hit in found.relationships]
        if ids is not None:
            edges = stated_by(self._graph, edges, ids, progress)
        pairs = _ranked(edges[: step.limit])
        ontologies = {end: hit.ontology for hit in found.relationships for end in _ids_of(hit)}
        nodes = [_of_concept(end, ontologies[end], number, at) for at, edge in pairs for end in edge.ends]
        added = progress.add(nodes, 2 * step.limit)
        for _, edge in pairs:
            progress.connect(edge)
        return added

    def _by_source(self, step: SeedStep, number: int, progress: QueryProgress) -> int:
        place = find_source(self._graph, step.value)
        if step.by == "image" and place.kind != "image":
            raise InvalidInput(f"step {number}: {step.value!r} is a passage, no picture: seed it by 'source'")
        node = _of_source(place, number, 1)
        if not progress.sees(node):
            raise _not_seen(step.value, node.ontology, progress)
        return progress.add([node], 1)


def _named(progress: QueryProgress) -> list[str] | None:
    """The ontologies that the query names, of those there are; None: it sees all."""
    return None if progress.query.ontologies is None else sorted(progress.ontologies)


def _ranked(found: Sequence[T]) -> list[tuple[int, T]]:
    return list(enumerate(found, start=1))


def _of_source(place: Place, step: int, rank: int) -> WorkingNode:
    way = Reached(step=step, hops=0, rank=rank)
    return WorkingNode(place.source_id, place.kind, place.ontology, place.document_id, [way])


def _of_concept(concept_id: str, ontology: str, step: int, rank: int) -> WorkingNode:
    return WorkingNode(concept_id, "concept", ontology, None, [Reached(step=step, hops=0, rank=rank)])


def _ids_of(hit: RelationshipHit) -> tuple[str, str]:
    return hit.subject.concept_id, hit.object.concept_id


def _edge(hit: RelationshipHit, step: int) -> WorkingEdge:
    return WorkingEdge(
        "related_to",
        *_ids_of(hit),
        hit.type,
        concept_name(hit.type),
        hit.sources,
        tuple(each.relation_id for each in hit.evidence),
        steps=[step],
    )


def _not_seen(value: str, ontology: str, progress: QueryProgress) -> InvalidInput:
    """The error that the query's own filters leave out a seed that it names."""
    if ontology not in progress.ontologies:
        told = f"is in the ontology {ontology!r}, which the query does not see: name it in ontology"
    elif progress.cut:
        told = f"was not found in the documents that the query sees: {progress.cut[-1].effect}"
    else:
        why = "; ".join(progress.unseen) or "change its documents or where"
        told = f"is in no document that the query sees: {why}"
    return InvalidInput(f"{value!r} {told}")


def _describe_many(within: Sequence[str]) -> Degradation:
    effect = f"relationships were looked for in the first {MAX_ONTOLOGIES} of {len(within)} ontologies"
    return Degradation(part="concepts", effect=effect)


def _describe_taken(value: str, taken: Sequence[Concept]) -> Degradation:
    labels = ", ".join(repr(each.label) for each in taken)
    what = pluralize(len(taken), "concept")
    effect = f"no concept is called {value!r}; taken for it: {what} that it fits, {labels}"
    return Degradation(part="concepts", effect=effect)
