"""From what the lanes found to the hits of an answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.passages import Found
from kg_api.models.search import MatchedChunk, Ranks, SourceHit
from kg_api.search.fusion import reciprocal_rank_fusion


@dataclass(frozen=True, slots=True)
class Lanes:
    """What each lane found, the best first; None for a lane that was not asked."""

    vector: Sequence[Found] | None = None
    text: Sequence[Found] | None = None
    asked: Mapping[str, Sequence[Found]] = field(init=False)

    def __post_init__(self) -> None:
        both = {"vector": self.vector, "text": self.text}
        object.__setattr__(self, "asked", {name: lane for name, lane in both.items() if lane is not None})


def hits(lanes: Lanes, limit: int, min_similarity: float | None = None) -> list[SourceHit]:
    """The best hits: in the order of the one lane that was asked, else of the fused lanes."""
    places = {name: _ranks(lane) for name, lane in lanes.asked.items()}
    found = {each.place.source_id: each for lane in reversed([*lanes.asked.values()]) for each in lane}
    ordered = [
        _hit(found[identity], score, {name: ranks.get(identity) for name, ranks in places.items()})
        for identity, score in _scores(lanes).items()
        if _similar_enough(found[identity], min_similarity)
    ]
    return ordered[:limit]


def _scores(lanes: Lanes) -> Mapping[str, float]:
    if len(lanes.asked) == 1:
        (lane,) = lanes.asked.values()
        return {each.place.source_id: each.score for each in lane}
    return reciprocal_rank_fusion(
        {name: [each.place.source_id for each in lane] for name, lane in lanes.asked.items()}
    )


def _ranks(lane: Sequence[Found]) -> dict[str, int]:
    return {each.place.source_id: rank for rank, each in enumerate(lane, start=1)}


def _similar_enough(found: Found, least: float | None) -> bool:
    return least is None or (found.similarity is not None and found.similarity >= least)


def _hit(found: Found, score: float, ranks: Mapping[str, int | None]) -> SourceHit:
    return SourceHit(
        **found.place.model_dump(),
        similarity=found.similarity,
        score=score,
        ranks=Ranks(**ranks),
        chunk=_chunk(found),
    )


def _chunk(found: Found) -> MatchedChunk:
    """The matched part, without the blanks around it."""
    place = found.place
    length = len(place.full_text) if found.length is None else found.length
    part = place.full_text[found.offset : found.offset + length]
    start = place.start + found.offset + len(part) - len(part.lstrip())
    text = part.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text))
