"""The ways that lead from a picture to passages and from a passage to pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph
from kg_api.graph.search.carried import SeedPassage, by_concepts
from kg_api.graph.search.passages import Filters, LaneHit, NearestPassages
from kg_api.graph.search.similar import VectorPart
from kg_api.graph.spaces.registry import Space
from kg_api.models.pictures.related import RelatedThrough
from kg_api.models.queries.places import Place
from kg_api.models.vocabulary import RelatedLane
from kg_api.search.retrieve.concept_lane import PASSAGE
from kg_api.similarity.words import NO_VECTORS, sharing_words

Found = dict[str, RelatedThrough]
"""By source, the best first."""


@dataclass(frozen=True, slots=True)
class RelatedQuery:
    """What is looked for, and where."""

    own: Place
    within: Filters
    depth: int
    """Most sources of each lane."""


def in_document(graph: Graph, asked: RelatedQuery) -> Found:
    """What stands in the same document, by distance in reading order."""
    own, within = asked.own, asked.within
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
        limit=asked.depth,
    )
    return {
        row["source_id"]: RelatedThrough(lane="document", rank=rank, distance=row["distance"])
        for rank, row in enumerate(rows, start=1)
    }


def linked(graph: Graph, asked: RelatedQuery) -> Found:
    """What somebody linked to the source, the nearest first."""
    within = asked.within
    rows = graph.read(
        "proposals/linked_to",
        source_id=asked.own.source_id,
        ontologies=within.ontologies,
        document_ids=within.document_ids,
        **within.sources.parameters(),
        limit=asked.depth,
    )
    return {
        row["source_id"]: RelatedThrough(lane="link", rank=rank, similarity=row["similarity"])
        for rank, row in enumerate(rows, start=1)
    }


def through_concepts(graph: Graph, asked: RelatedQuery, beside: Sequence[str]) -> Found:
    """What carries the source's concepts, or those of what stands beside it; of rare ones rather.

    Args:
        graph: where they are.
        asked: what is looked for.
        beside: sources directly before and after it.
    """
    own = SeedPassage(asked.own.source_id, PASSAGE)
    seeds = [own, *(SeedPassage(each, PASSAGE / math.sqrt(2)) for each in beside)]
    found = by_concepts(graph, [], seeds, asked.within, NO_VECTORS, limit=asked.depth + 1)
    hits = (each for each in found if each.source.source_id != asked.own.source_id)
    return {
        each.source.source_id: RelatedThrough(lane="concepts", rank=rank, concepts=[*each.through])
        for rank, each in enumerate(hits, start=1)
    }


def near_vectors(
    graph: Graph,
    asked: RelatedQuery,
    parts: Iterable[VectorPart],
    slots: Iterable[tuple[Space, Sequence[str]]],
    lane: RelatedLane,
) -> Found:
    """What is near to vectors of the source.

    Args:
        graph: where they are.
        asked: what is looked for.
        parts: the source's vectors.
        slots: where vectors of their space are, each with the ontologies that it answers.
        lane: what is said of it.
    """
    filters = asked.within
    lookups = [
        NearestPassages(
            part.vector,
            space,
            Filters(names, filters.document_ids, filters.sources),
            asked.depth + 1,
            wanted=asked.depth + 1,
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
    return by_similarity(asked, found, lane)


def near_in_words(graph: Graph, asked: RelatedQuery) -> Found:
    """What shares words with a source that has no vector."""
    found = sharing_words(graph, asked.own, asked.within, asked.depth)
    return {
        each.source.source_id: RelatedThrough(lane="words", rank=rank)
        for rank, each in enumerate(found, start=1)
    }


def by_similarity(asked: RelatedQuery, found: Sequence[tuple[str, LaneHit]], lane: RelatedLane) -> Found:
    """Each source once, by the nearest of its parts."""
    best: dict[str, tuple[float, str]] = {}
    for space, hit in found:
        identity, similarity = hit.source.source_id, hit.similarity or 0.0
        if identity != asked.own.source_id and (identity not in best or similarity > best[identity][0]):
            best[identity] = (similarity, space)
    nearest_first = sorted(best.items(), key=lambda each: (-each[1][0], each[0]))[: asked.depth]
    return {
        identity: RelatedThrough(lane=lane, rank=rank, similarity=similarity, space=space)
        for rank, (identity, (similarity, space)) in enumerate(nearest_first, start=1)
    }
