"""Passages that go with a picture, and pictures that go with a passage: several ways, joined by ranks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from kg_api.concepts.asking import none_yet
from kg_api.concepts.ranks import reciprocal_rank_fusion
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_source, neighbours
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.passages import TEXT_INDEX, Filters
from kg_api.graph.search.similar import places_of, vectors_of
from kg_api.models.pictures.related import RelatedSearch, RelatedSource, RelatedSources
from kg_api.models.queries.filters import KIND, conditions_of
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import SourceKind
from kg_api.search.plan.chosen import choose_sources
from kg_api.search.timing import Stopwatch
from kg_api.similarity.parts import evenly
from kg_api.similarity.related.lanes import (
    Found,
    RelatedQuery,
    in_document,
    linked,
    near_in_words,
    near_vectors,
    through_concepts,
)
from kg_api.similarity.related.seen import SeenLane
from kg_api.similarity.scope import comparable, under_way
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.plans import OntologySnapshot, PlanWatch

DEPTH = 50
"""So many of each lane are joined, at least."""
MAX_PARTS = 4
"""Chunks of the source that are compared; of more, so many that are spread evenly."""


class RelatedService:
    """Finds what goes with a source."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None = None) -> None:
        self._graph = graph
        self._seeing = SeenLane(graph, images)
        self._remembered = RememberedFilters(graph)
        self._plans = PlanWatch(graph)
        self._indexes = IndexWatch(graph)
        self._progress = EmbeddingWatch(graph)

    def related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        """Find what goes with a source. What could not be done is told.

        Raises:
            NotFound: there is no such source, or an ontology that the request names is not there.
            Conflict: several begin like that.
            InvalidInput: a condition is of a field that no document has, and another is called nearly so.
        """
        watch, told = Stopwatch("related"), list[Degradation]()
        own = find_source(self._graph, source_id)
        known = self._plans.known([own.ontology, *(request.ontologies or ())])
        known.require_known(request.ontologies)
        with watch.stage("filter") if request.where else nullcontext():
            within = self._within(own, request, told)
        asked = RelatedQuery(own, within, max(DEPTH, 3 * request.limit))
        with watch.stage("document"):
            lanes = [in_document(self._graph, asked), linked(self._graph, asked)]
        with watch.stage("concepts"):
            lanes.append(self._through_concepts(asked, known, told))
        with watch.stage("words"):
            lanes.append(self._near_words(asked, known, told))
        with watch.stage("pictures"):
            lanes.extend(self._seeing.find(asked, known, told))
        return RelatedSources(
            source=own,
            kinds=within.sources.kinds,
            sources=self._join(lanes, request.limit),
            degraded=told,
            timings_ms=watch.milliseconds(),
        )

    def _within(self, own: Place, request: RelatedSearch, told: list[Degradation]) -> Filters:
        """Where to look: for sources of the other kind, unless the request names kinds."""
        within = Filters(request.ontologies, [own.document_id] if request.same_document else None)
        if request.where:
            chosen = choose_sources(self._graph, self._remembered, request.where, within)
            within = chosen.filters
            told += chosen.notes
        kinds: Collection[SourceKind] | None = request.kinds
        if kinds is None and not any(each.field == KIND for each in conditions_of(request.where or ())):
            kinds = [_other(own.kind)]
        return replace(within, sources=within.sources.of_kinds(kinds))

    def _through_concepts(
        self, asked: RelatedQuery, known: OntologySnapshot, told: list[Degradation]
    ) -> Found:
        own = asked.own
        around = neighbours(self._graph, [own], 1)[own.source_id] if own.kind == "image" else []
        beside = [each.source_id for each in around if each.source_id != own.source_id]
        found = through_concepts(self._graph, asked, beside)
        if not found:
            told += none_yet(self._graph, known.there(asked.within.ontologies))
        return found

    def _near_words(self, asked: RelatedQuery, known: OntologySnapshot, told: list[Degradation]) -> Found:
        """Near in the text space of the source's ontology; a picture has a vector of its words."""
        own = asked.own
        vectors = vectors_of(self._graph, [own.source_id], known.answering, known.new)
        parts = evenly(vectors.get(own.source_id, []), MAX_PARTS)
        scope = comparable(known.space_of(own.ontology), asked.within.ontologies, known)
        if not parts:
            return self._sharing_words(asked, told)
        names = [] if asked.within.image else [space.index_name for space, _ in scope.slots]
        waiting = self._indexes.populating(*names)  # of pictures every vector is compared, without an index
        told += _filling(waiting)
        told += [each for each in scope.degradations() if each not in told]
        told += under_way(self._progress.read(), scope.ontologies)
        slots = [(space, names) for space, names in scope.slots if space.index_name not in waiting]
        return near_vectors(self._graph, asked, parts, slots, "words")

    def _sharing_words(self, asked: RelatedQuery, told: list[Degradation]) -> Found:
        effect = "the source has no vector yet: what shares its words was looked for, which says less"
        told.append(Degradation(part="vectors", effect=effect))
        if waiting := self._indexes.populating(TEXT_INDEX):
            told += _filling(waiting)
            return {}
        return near_in_words(self._graph, asked)

    def _join(self, lanes: Sequence[Found], limit: int) -> list[RelatedSource]:
        """By ranks, for a distance, a weight of concepts and a cosine cannot be compared."""
        scores = reciprocal_rank_fusion([*lane] for lane in lanes)
        best = [*scores.items()][: 2 * limit]  # some may have been deleted meanwhile
        places = {place.source_id: place for place in places_of(self._graph, [each for each, _ in best])}
        return [
            RelatedSource(
                **places[identity].model_dump(),
                score=score,
                through=[lane[identity] for lane in lanes if identity in lane],
            )
            for identity, score in best
            if identity in places
        ][:limit]


def _other(kind: SourceKind) -> SourceKind:
    return "passage" if kind == "image" else "image"


def _filling(waiting: dict[str, str]) -> Iterable[Degradation]:
    for name, state in waiting.items():
        effect = f"the index {name} is {state}: what is near in words was not looked for there"
        yield Degradation(part="text_index" if name == TEXT_INDEX else "vector_index", effect=effect)
