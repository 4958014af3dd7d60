"""Passages to show for an image, and images to show for a passage."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from kg_api.concepts.search import describe_missing_concepts, fuse_by_reciprocal_rank
from kg_api.graph.client import Graph
from kg_api.graph.library import find_source, read_neighbours
from kg_api.graph.search import Filters, LaneHit, NearestPassages, SeedPassage, find_sources_by_concepts
from kg_api.graph.similar import (
    NO_VECTORS,
    NearestPictures,
    VectorPart,
    describe_places,
    read_search_vectors,
    read_source_vectors,
)
from kg_api.graph.spaces import Space
from kg_api.schemas.filters import KIND, list_conditions
from kg_api.schemas.image_search import RelatedSearch, RelatedSource, RelatedSources, RelatedThrough
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.vocabulary import RelatedLane, SourceKind
from kg_api.search.fusion import MARGIN, get_relevance_floor
from kg_api.search.near import build_comparable, sample_evenly
from kg_api.search.notes import Stopwatch, describe_embedding_progress
from kg_api.search.question import PictureQuestions, PictureVector
from kg_api.search.retrieve import PASSAGE
from kg_api.search.scope import choose_sources
from kg_api.spaces.images import ImageSpaceRegistry, group_by_space, is_one_space
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots

# Retrievers between images and passages

Found = dict[str, RelatedThrough]  # by source, best first


@dataclass(frozen=True, slots=True)
class RelatedQuery:
    """Query for related sources, with its scope."""

    own: Place
    within: Filters
    depth: int  # maximum sources per retriever


def find_in_document(graph: Graph, query: RelatedQuery) -> Found:
    """Find sources in the same document, the nearest first."""
    own, within = query.own, query.within
    if within.ontologies is not None and own.ontology not in within.ontologies:
        return {}
    if within.document_ids is not None and own.document_id not in within.document_ids:
        return {}
    rows = graph.read(
        "similar/in_document",
        ontology=own.ontology,
        document_id=own.document_id,
        paragraph=own.paragraph,
        **within.sources.parameters(),
        limit=query.depth,
    )
    return {
        row["source_id"]: RelatedThrough(lane="document", rank=rank, distance=row["distance"])
        for rank, row in enumerate(rows, start=1)
    }


def find_linked(graph: Graph, query: RelatedQuery) -> Found:
    """Find linked sources, the most similar first."""
    within = query.within
    rows = graph.read(
        "proposals/linked_to",
        source_id=query.own.source_id,
        ontologies=within.ontologies,
        document_ids=within.document_ids,
        **within.sources.parameters(),
        limit=query.depth,
    )
    return {
        row["source_id"]: RelatedThrough(lane="link", rank=rank, similarity=row["similarity"])
        for rank, row in enumerate(rows, start=1)
    }


def find_through_concepts(graph: Graph, query: RelatedQuery, beside: Sequence[str]) -> Found:
    """Find sources using concepts from a source or its neighbours. Rare concepts have more weight."""
    own = SeedPassage(query.own.source_id, PASSAGE)
    seeds = [own, *(SeedPassage(each, PASSAGE / math.sqrt(2)) for each in beside)]
    found = find_sources_by_concepts(graph, [], seeds, query.within, NO_VECTORS, limit=query.depth + 1)
    hits = (each for each in found if each.source.source_id != query.own.source_id)
    return {
        each.source.source_id: RelatedThrough(lane="concepts", rank=rank, concepts=[*each.through])
        for rank, each in enumerate(hits, start=1)
    }


def find_near_vectors(
    graph: Graph,
    query: RelatedQuery,
    parts: Iterable[VectorPart],
    slots: Iterable[tuple[Space, Sequence[str]]],
    lane: RelatedLane,
) -> Found:
    """Find sources near the vectors in `parts`, using these index slots."""
    filters = query.within
    lookups = [
        NearestPassages(
            part.vector,
            space,
            Filters(names, filters.document_ids, filters.sources),
            query.depth + 1,
            wanted=query.depth + 1,
        )
        for part in parts
        for space, names in slots
    ]
    rows = graph.look_up([each.lookup for each in lookups]) if lookups else []
    found = [
        (each.space.slug, hit)
        for each, own in zip(lookups, rows, strict=True)
        for hit in each.hits(graph, own).found
    ]
    return rank_by_similarity(query, found, lane)


def rank_by_similarity(query: RelatedQuery, found: Sequence[tuple[str, LaneHit]], lane: RelatedLane) -> Found:
    """Rank each source once, using the nearest part."""
    best: dict[str, tuple[float, str]] = {}
    for space, hit in found:
        identity, similarity = hit.source.source_id, hit.similarity or 0.0
        if identity != query.own.source_id and (identity not in best or similarity > best[identity][0]):
            best[identity] = (similarity, space)
    nearest_first = sorted(best.items(), key=lambda each: (-each[1][0], each[0]))[: query.depth]
    return {
        identity: RelatedThrough(lane=lane, rank=rank, similarity=similarity, space=space)
        for rank, (identity, (similarity, space)) in enumerate(nearest_first, start=1)
    }


# Image content against passages, if one model embeds both


class SeenLane:
    """Compares vectors from images and passages."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None) -> None:
        self._graph = graph
        self._snapshots = get_snapshots(graph)
        self._questions = PictureQuestions(graph, images, self._snapshots)

    def find(
        self, query: RelatedQuery, known: OntologySnapshot, degradations: list[Degradation]
    ) -> list[Found]:
        """Find images for an image. If there is a model to embed both kinds, find the other kind too."""
        wanted = query.within.image
        if query.own.kind == "image":
            alike = [self._find_images(query, known)] if wanted is not False else []
            return alike if wanted else [*alike, self._find_passages(query, known)]
        return [] if wanted is False else [self._find_images_by_text(query, known, degradations)]

    def _find_images(self, query: RelatedQuery, known: OntologySnapshot) -> Found:
        """Find images in the same image space."""
        own, spaces = query.own, known.image_spaces
        space = spaces.get(own.ontology)
        if space is None or self._snapshots.read_populating(space.image_index_name):
            return {}
        groups = group_by_space(known.keep_existing(query.within.ontologies), spaces)
        names = next((names for each, names in groups if each.slug == space.slug), list[str]())
        parts = read_source_vectors(self._graph, own.source_id, space)
        questions = [PictureVector(space, names, part.vector) for part in parts]
        near = [hit for each in questions for hit in self._find_near(query, each)]
        return rank_by_similarity(query, near, "picture_space")

    def _find_passages(self, query: RelatedQuery, known: OntologySnapshot) -> Found:
        """Find passages near the image's vector, if they are in the same space."""
        own, space = query.own, known.image_spaces.get(query.own.ontology)
        if space is None:
            return {}
        parts = read_source_vectors(self._graph, own.source_id, space)
        texts = {each.slug: each for each in known.answering.values()}
        one = [each for each in texts.values() if is_one_space(space.identity, each.identity)]
        slots = [
            slot for each in one for slot in build_comparable(each, query.within.ontologies, known).slots
        ]
        there = [
            (each, names) for each, names in slots if not self._snapshots.read_populating(each.index_name)
        ]
        return find_near_vectors(self._graph, query, parts, there, "picture_space")

    def _find_images_by_text(
        self, query: RelatedQuery, known: OntologySnapshot, degradations: list[Degradation]
    ) -> Found:
        """Find images near the text in a passage."""
        spaces = self._questions.list_text_spaces(known.keep_existing(query.within.ontologies), known)
        questions = [self._questions.embed(query.own.full_text, *each) for each in spaces]
        degradations += [each.degradation for each in questions if each.degradation is not None]
        near = [hit for each in questions for hit in self._find_near(query, each)]
        return rank_by_similarity(query, near, "picture_space")

    def _find_near(self, query: RelatedQuery, question: PictureVector) -> Iterator[tuple[str, LaneHit]]:
        if question.vector is None:
            return
        nearest = NearestPictures(
            question.vector,
            question.space,
            question.ontologies,
            query.within.document_ids,
            query.depth + 1,  # the image may find itself
            sources=query.within.sources,
        )
        (rows,) = self._graph.look_up([nearest.lookup])
        for hit in nearest.hits(self._graph, rows).found:
            yield question.space.slug, hit._replace(similarity=hit.score)


def add_no_close_match_note(space: Space, lanes: Iterable[Found]) -> str | None:
    """Add a note if sources only have similar text, and none of them has close text."""
    ways = [way for lane in lanes for way in lane.values()]
    floor = get_relevance_floor(space, 0)
    if not ways or floor is None or any(each.lane != "words" for each in ways):
        return None
    nearest = max(each.similarity or 0 for each in ways)
    if nearest >= floor - MARGIN:
        return None
    return (
        f"no close match: the most similar text has a similarity of {nearest:.2f}, "
        f"and close matches start at {floor:.2f}"
    )


# Service: several retrievers, fused by rank

DEPTH = 50  # minimum results per retriever
MAX_PARTS = 4
"""Maximum number of chunks to compare for a source. If it is longer, use chunks at even distances."""


class RelatedService:
    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None = None) -> None:
        self._graph = graph
        self._seeing = SeenLane(graph, images)
        self._snapshots = get_snapshots(graph)
        self._remembered = self._snapshots.filters
        self._progress = self._snapshots.get_progress()

    def find_related(self, source_id: str, request: RelatedSearch) -> RelatedSources:
        """Find sources that are related to a source. `degraded` lists the retrievers that did not work.

        Raises:
            NotFound: The source or a requested ontology does not exist.
            Conflict: The id prefix is ambiguous.
            InvalidInput: A condition uses an unknown field that resembles a known one.
        """
        watch, degradations = Stopwatch("related"), list[Degradation]()
        own = find_source(self._graph, source_id)
        known = self._snapshots.get([own.ontology, *(request.ontologies or ())])
        known.require_known(request.ontologies)
        with watch.stage("filter") if request.where else nullcontext():
            within = self._build_scope(own, request, degradations)
        query = RelatedQuery(own, within, max(DEPTH, 3 * request.limit))
        with watch.stage("document"):
            lanes = [find_in_document(self._graph, query), find_linked(self._graph, query)]
        with watch.stage("concepts"):
            lanes.append(self._find_through_concepts(query, known, degradations))
        with watch.stage("words"):
            lanes.append(self._find_by_text_vector(query, known, degradations))
        with watch.stage("pictures"):
            lanes.extend(self._seeing.find(query, known, degradations))
        return RelatedSources(
            source=own,
            kinds=within.sources.kinds,
            sources=self._join(lanes, request.limit),
            note=add_no_close_match_note(known.get_space(own.ontology), lanes),
            degraded=degradations,
            timings_ms=watch.get_milliseconds(),
        )

    def _build_scope(self, own: Place, request: RelatedSearch, degradations: list[Degradation]) -> Filters:
        """Build the scope. If no kinds are requested, use sources of the other kind."""
        within = Filters(request.ontologies, [own.document_id] if request.same_document else None)
        if request.where:
            chosen = choose_sources(self._graph, self._remembered, request.where, within)
            within = chosen.filters
            degradations += chosen.notes
        kinds: Collection[SourceKind] | None = request.kinds
        if kinds is None and not any(each.field == KIND for each in list_conditions(request.where or ())):
            kinds = ["passage" if own.kind == "image" else "image"]
        return replace(within, sources=within.sources.restrict_to_kinds(kinds))

    def _find_through_concepts(
        self, query: RelatedQuery, known: OntologySnapshot, degradations: list[Degradation]
    ) -> Found:
        own = query.own
        around = read_neighbours(self._graph, [own], 1)[own.source_id] if own.kind == "image" else []
        beside = [each.source_id for each in around if each.source_id != own.source_id]
        found = find_through_concepts(self._graph, query, beside)
        if not found:
            degradations += describe_missing_concepts(
                self._graph, known.keep_existing(query.within.ontologies)
            )
        return found

    def _find_by_text_vector(
        self, query: RelatedQuery, known: OntologySnapshot, degradations: list[Degradation]
    ) -> Found:
        """Find sources near in the text space. For an image, use the vector for its text."""
        own = query.own
        vectors = read_search_vectors(self._graph, [own.source_id], known.answering, known.new)
        parts = sample_evenly(vectors.get(own.source_id, []), MAX_PARTS)
        scope = build_comparable(known.get_space(own.ontology), query.within.ontologies, known)
        if not parts:
            effect = "the source has no vector yet, so kg did not search for similar text"
            degradations.append(Degradation(part="vectors", effect=effect))
            return {}
        names = [] if query.within.image else [space.index_name for space, _ in scope.slots]
        waiting = self._snapshots.read_populating(
            *names
        )  # images need no index, because all vectors are compared
        degradations += [
            Degradation(part="vector_index", effect=f"the index {name} is {state}, so it was not searched")
            for name, state in waiting.items()
        ]
        degradations += [each for each in scope.degradations() if each not in degradations]
        degradations += describe_embedding_progress(self._progress.get(), scope.ontologies)
        slots = [(space, names) for space, names in scope.slots if space.index_name not in waiting]
        return find_near_vectors(self._graph, query, parts, slots, "words")

    def _join(self, lanes: Sequence[Found], limit: int) -> list[RelatedSource]:
        """Fuse by rank, because you cannot compare distances, concept weights, and cosines."""
        scores = fuse_by_reciprocal_rank([*lane] for lane in lanes)
        best = [*scores.items()][: 2 * limit]  # spare hits replace deleted sources
        places = {
            place.source_id: place for place in describe_places(self._graph, [each for each, _ in best])
        }
        return [
            RelatedSource(
                **places[identity].model_dump(),
                score=score,
                through=[lane[identity] for lane in lanes if identity in lane],
            )
            for identity, score in best
            if identity in places
        ][:limit]
