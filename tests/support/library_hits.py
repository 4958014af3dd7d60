"""Hits of a library in memory."""

from __future__ import annotations

from kg_api.schemas.search import MatchedChunk, Place, Ranks, SourceHit


def hit_of_first_half(place: Place, document: str) -> SourceHit:
    """A place that matched in its first half, and whose larger part is the whole document."""
    half = place.start + max(len(place.full_text) // 2, 1)
    chunk = MatchedChunk(text="", start=place.start, end=half, source_ids=[place.source_id])
    parent = MatchedChunk(text="", start=0, end=len(document), source_ids=[])
    own = place.model_dump()
    return SourceHit(**own, similarity=None, score=1.0, ranks=Ranks(), chunk=chunk, parent=parent)
