"""From ordered hits to the answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.passages import ChunkText, Found
from kg_api.models.search import CarriedConcept, Explanation, LanePart, MatchedChunk, SourceHit
from kg_api.search.ranking import Hit


@dataclass(frozen=True, slots=True)
class Telling:
    """What is said about hits."""

    spaces: Mapping[str, str]
    """The space of each ontology."""
    indexes: Mapping[str, str]
    """The index, or indexes, that each lane asked."""
    fusion: str = "none"
    explain: bool = False
    carried: Mapping[str, list[CarriedConcept]] = field(default_factory=dict[str, list[CarriedConcept]])
    """The concepts of sources, where they were asked for."""


def needed_texts(hits: Sequence[Hit]) -> list[str]:
    """Ids of chunks whose text is not in their hit's source alone."""
    chunks = [hit.found.chunk for hit in hits if hit.found.chunk]
    return [
        *(chunk.chunk_id for chunk in chunks if len(chunk.covers) > 1),
        *dict.fromkeys(chunk.parent_id for chunk in chunks if chunk.parent_id),
    ]


def told(hits: Sequence[Hit], texts: Mapping[str, ChunkText], telling: Telling) -> list[SourceHit]:
    """As the answer gives them.

    Args:
        hits: the best ones.
        texts: what the chunks named by `needed_texts` say.
        telling: what else is said.
    """
    return [
        SourceHit(
            **hit.found.place.model_dump(),
            similarity=hit.found.similarity,
            space=telling.spaces.get(hit.found.place.ontology) if hit.found.similarity is not None else None,
            score=hit.score,
            ranks=hit.ranks,
            chunk=matched(hit.found, texts),
            parent=_parent(hit.found, texts),
            duplicates=list(hit.duplicates),
            concepts=telling.carried.get(hit.found.place.source_id, []),
            through=list(hit.found.through),
            explanation=_explained(hit, telling) if telling.explain else None,
        )
        for hit in hits
    ]


def matched(found: Found, texts: Mapping[str, ChunkText]) -> MatchedChunk:
    """The matched part, without the blanks around it."""
    place, chunk = found.place, found.chunk
    if chunk is None:
        return _stripped(ChunkText(place.full_text, place.start, place.end, (place.source_id,)))
    if chunk.chunk_id in texts:
        return _stripped(texts[chunk.chunk_id])
    if len(chunk.covers) > 1:  # it has gone since it was found: what is left is the source
        return _stripped(ChunkText(place.full_text, place.start, place.end, (place.source_id,)))
    part = place.full_text[chunk.offset : chunk.end_offset]
    start = place.start + chunk.offset
    return _stripped(ChunkText(part, start, start + len(part), chunk.covers))


def _explained(hit: Hit, telling: Telling) -> Explanation:
    lanes = [
        LanePart(
            lane=part.lane,
            index=telling.indexes.get(part.lane, ""),
            rank=part.rank,
            score=part.score,
            weight=part.weight,
            contribution=part.value,
        )
        for part in hit.parts
    ]
    return Explanation(
        lanes=lanes,
        fusion=telling.fusion,
        fused_rank=hit.fused_rank,
        passage_rank=hit.passage_rank,
        fused_score=hit.fused_score,
        rerank_score=hit.rerank_score,
        rerank_rank=hit.rerank_rank,
        mmr_score=hit.score if hit.mmr_rank is not None else None,
        mmr_rank=hit.mmr_rank,
    )


def _parent(found: Found, texts: Mapping[str, ChunkText]) -> MatchedChunk | None:
    parent = texts.get(found.chunk.parent_id) if found.chunk and found.chunk.parent_id else None
    return _stripped(parent) if parent else None


def _stripped(part: ChunkText) -> MatchedChunk:
    start = part.start + len(part.text) - len(part.text.lstrip())
    text = part.text.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text), source_ids=list(part.source_ids))
