"""The parts of two sources that are near to each other, as the answer shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kg_api.graph.database import Graph
from kg_api.graph.search.passages import ChunkText, chunk_texts
from kg_api.graph.search.similar import VectorPart, places_of
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import MatchedChunk
from kg_api.models.queries.similarity import SimilarSource
from kg_api.search.retrieve.hits import strip_chunk
from kg_api.similarity.grouping import Group

MAX_PARTS = 16
"""Chunks of one source that are compared; of more, so many that are spread evenly."""


def present_similar(
    graph: Graph, own: Place, parts: list[VectorPart], groups: Iterable[Group]
) -> list[SimilarSource]:
    """Groups of what is near to a source, with the texts of their nearest chunks."""
    groups = list(groups)
    wanted = [each.first.chunk_id for each in groups] + [parts[each.first.part].chunk_id for each in groups]
    texts = chunk_texts(graph, [identity for identity in wanted if identity is not None])
    told = {
        place.source_id: place for place in places_of(graph, [each.first.place.source_id for each in groups])
    }
    return [
        SimilarSource(
            **told.get(group.first.place.source_id, group.first.place).model_dump(),
            similarity=group.first.similarity,
            score=group.first.similarity,
            chunk=to_matched_chunk(group.first.place, group.first.chunk_id, texts),
            own_chunk=to_matched_chunk(own, parts[group.first.part].chunk_id, texts),
            near_duplicate=group.near_duplicate,
            duplicates=group.duplicates,
        )
        for group in groups
    ]


def to_matched_chunk(
    place: Place, chunk_id: str | None = None, texts: Mapping[str, ChunkText] | None = None
) -> MatchedChunk:
    """A chunk, or the whole source where it has none, without the blanks around it."""
    whole = ChunkText(place.full_text, place.start, place.end, (place.source_id,))
    # a chunk may have gone meanwhile
    return strip_chunk(whole if chunk_id is None else (texts or {}).get(chunk_id, whole))


def evenly(parts: Sequence[VectorPart], most: int) -> list[VectorPart]:
    """All of them, or so many that are spread evenly."""
    if len(parts) <= most:
        return list(parts)
    return [parts[int(at)] for at in np.linspace(0, len(parts) - 1, most)]
