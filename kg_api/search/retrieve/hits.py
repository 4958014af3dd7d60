"""Hits: what lanes find, what brought it to its place, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kg_api.graph.search.passages import ChunkText, LaneHit
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import MatchedChunk, Ranks
from kg_api.models.vocabulary import GroupBy

TEXT = "text"
VECTOR = "vector:"
CONCEPTS = "concepts"
PICTURES = "pictures:"

Texts = Mapping[str, ChunkText]
"""What chunks say, by their ids."""


class LaneContribution(NamedTuple):
    """What a lane adds to a fused score."""

    lane: str
    rank: int | None
    """From 1; none where the lane did not find it by itself."""
    score: float
    weight: float
    contribution: float


class Hit(NamedTuple):
    """Something that was found, with all that brought it to its place."""

    found: LaneHit
    identity: str
    score: float
    """What the hits are ordered by at the moment."""
    parts: tuple[LaneContribution, ...] = ()
    fused_rank: int = 0
    fused_score: float = 0.0
    rerank_score: float | None = None
    rerank_rank: int | None = None
    mmr_score: float | None = None
    mmr_rank: int | None = None
    duplicates: tuple[str, ...] = ()
    passage_rank: int | None = None
    """Among what vectors and words found, before concepts came in."""

    @property
    def ranks(self) -> Ranks:
        """A source is in one ontology and so in one space: one vector lane at most has it."""
        ranks = {part.lane: part.rank for part in self.parts}
        vector = [rank for lane, rank in ranks.items() if lane.startswith(VECTOR) and rank is not None]
        seen = [rank for lane, rank in ranks.items() if lane.startswith(PICTURES) and rank is not None]
        return Ranks(
            vector=min(vector, default=None),
            text=ranks.get(TEXT),
            concepts=ranks.get(CONCEPTS),
            pictures=min(seen, default=None),
        )


def below(least: float, hits: Iterable[Hit]) -> list[Hit]:
    """Hits in their order, with scores below one."""
    return [hit._replace(score=least - number * 1e-6) for number, hit in enumerate(hits, start=1)]


def identity_of(found: LaneHit, group_by: GroupBy = "source") -> str:
    """What makes two findings one hit: the source, or the chunk."""
    return found.chunk.chunk_id if group_by == "chunk" and found.chunk else found.source.source_id


def find_needed_texts(found: Iterable[LaneHit]) -> list[str]:
    """Ids of chunks whose text is not in their hit's source alone."""
    chunks = [each.chunk for each in found if each.chunk]
    return [
        *(chunk.chunk_id for chunk in chunks if len(chunk.covers) > 1),
        *dict.fromkeys(chunk.parent_id for chunk in chunks if chunk.parent_id),
    ]


def to_matched_chunk(found: LaneHit, place: Place, texts: Texts) -> MatchedChunk:
    """The matched part, without the blanks around it.

    Args:
        found: what matched.
        place: its source.
        texts: what the chunks named by `find_needed_texts` say.
    """
    chunk = found.chunk
    if chunk is not None and chunk.chunk_id in texts:
        return strip_chunk(texts[chunk.chunk_id])
    if chunk is None or len(chunk.covers) > 1:  # it has gone since it was found: what is left is the source
        return strip_chunk(ChunkText(place.full_text, place.start, place.end, (place.source_id,)))
    part = place.full_text[chunk.offset : chunk.end_offset]
    start = place.start + chunk.offset
    return strip_chunk(ChunkText(part, start, start + len(part), chunk.covers))


def to_parent_chunk(found: LaneHit, texts: Texts) -> MatchedChunk | None:
    """The larger part, where there is one."""
    parent = texts.get(found.chunk.parent_id) if found.chunk and found.chunk.parent_id else None
    return strip_chunk(parent) if parent else None


def strip_chunk(part: ChunkText) -> MatchedChunk:
    """As it is given, without the blanks around it."""
    start = part.start + len(part.text) - len(part.text.lstrip())
    text = part.text.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text), source_ids=list(part.source_ids))
