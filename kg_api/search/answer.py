"""From what the lanes found to the hits of an answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg_api.graph.passages import ChunkText, Found
from kg_api.models.search import MatchedChunk, Ranks, SourceHit
from kg_api.search.fusion import reciprocal_rank_fusion

TEXT = "text"


@dataclass(frozen=True, slots=True)
class Lanes:
    """What each lane found, the best first; None for a lane that was not asked."""

    vectors: Mapping[str, Sequence[Found]] = field(default_factory=dict[str, Sequence[Found]])
    """By space: similarities of two models cannot be compared, so each has a lane of its own."""
    text: Sequence[Found] | None = None

    @property
    def asked(self) -> dict[str, Sequence[Found]]:
        """The lanes that were asked, by name: that of a space by its slug."""
        vectors = {f"vector:{slug}": lane for slug, lane in self.vectors.items()}
        return vectors if self.text is None else {**vectors, TEXT: self.text}

    def pointed(self) -> Lanes:
        """Let a chunk over several sources stand for the one that the words point at, if they do."""
        words = {found.place.source_id: found for found in self.text or ()}
        return replace(
            self,
            vectors={slug: _first_of_each(lane, words) for slug, lane in self.vectors.items()},
        )


def of_models(found: Iterable[tuple[str, Sequence[Found]]]) -> dict[str, Sequence[Found]]:
    """One lane a model: what it found in both slots of a space is compared, for the measure is the same."""
    lanes: dict[str, Sequence[Found]] = {}
    for slug, lane in found:
        both = [*lanes.get(slug, ()), *lane]
        lanes[slug] = sorted(both, key=lambda each: -each.score) if slug in lanes else lane
    return lanes


@dataclass(frozen=True, slots=True)
class Hit:
    """A source that was found, with what all lanes said."""

    found: Found
    score: float
    ranks: Ranks


def best(
    lanes: Lanes,
    limit: int,
    min_similarity: float | None = None,
    unmeasured: Callable[[str], bool] = lambda _: False,
) -> list[Hit]:
    """The best hits: in the order of the one lane that was asked, else of the fused lanes.

    Args:
        lanes: what was found.
        limit: most of them.
        min_similarity: what is less similar, or has no vector, is left out.
        unmeasured: whether the question has no vector in an ontology's space; there nothing is left out.
    """
    places = {name: _ranks(lane) for name, lane in lanes.asked.items()}
    found = {each.place.source_id: each for lane in reversed([*lanes.asked.values()]) for each in lane}
    ordered = [
        Hit(found[identity], score, _told({name: ranks.get(identity) for name, ranks in places.items()}))
        for identity, score in _scores(lanes).items()
        if unmeasured(found[identity].place.ontology) or _similar_enough(found[identity], min_similarity)
    ]
    return ordered[:limit]


def needed_texts(hits: Sequence[Hit]) -> list[str]:
    """Ids of chunks whose text is not in their hit's source alone."""
    chunks = [hit.found.chunk for hit in hits if hit.found.chunk]
    return [
        *(chunk.chunk_id for chunk in chunks if len(chunk.covers) > 1),
        *dict.fromkeys(chunk.parent_id for chunk in chunks if chunk.parent_id),
    ]


def told(hits: Sequence[Hit], texts: Mapping[str, ChunkText], spaces: Mapping[str, str]) -> list[SourceHit]:
    """As the answer gives them.

    Args:
        hits: the best ones.
        texts: what the chunks named by `needed_texts` say.
        spaces: the space of each ontology.
    """
    return [
        SourceHit(
            **hit.found.place.model_dump(),
            similarity=hit.found.similarity,
            space=spaces.get(hit.found.place.ontology) if hit.found.similarity is not None else None,
            score=hit.score,
            ranks=hit.ranks,
            chunk=_matched(hit.found, texts),
            parent=_parent(hit.found, texts),
        )
        for hit in hits
    ]


def _first_of_each(lane: Sequence[Found], words: Mapping[str, Found]) -> list[Found]:
    """The lane with each source once: two chunks may point at one."""
    first: dict[str, Found] = {}
    for each in lane:
        pointed = _pointed(each, words)
        first.setdefault(pointed.place.source_id, pointed)
    return list(first.values())


def _pointed(each: Found, words: Mapping[str, Found]) -> Found:
    if each.chunk is None or len(each.chunk.covers) == 1:
        return each
    there = [words[identity] for identity in each.chunk.covers if identity in words]
    return replace(each, place=max(there, key=lambda found: found.score).place) if there else each


def _scores(lanes: Lanes) -> Mapping[str, float]:
    if len(lanes.asked) == 1:
        (lane,) = lanes.asked.values()
        return {each.place.source_id: each.score for each in lane}
    return reciprocal_rank_fusion(
        {name: [each.place.source_id for each in lane] for name, lane in lanes.asked.items()}
    )


def _ranks(lane: Sequence[Found]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, each in enumerate(lane, start=1):
        ranks.setdefault(each.place.source_id, rank)
    return ranks


def _told(ranks: Mapping[str, int | None]) -> Ranks:
    """A source is in one ontology and so in one space: one vector lane at most has it."""
    vector = [rank for name, rank in ranks.items() if name != TEXT and rank is not None]
    return Ranks(vector=min(vector, default=None), text=ranks.get(TEXT))


def _similar_enough(found: Found, least: float | None) -> bool:
    return least is None or (found.similarity is not None and found.similarity >= least)


def _matched(found: Found, texts: Mapping[str, ChunkText]) -> MatchedChunk:
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


def _parent(found: Found, texts: Mapping[str, ChunkText]) -> MatchedChunk | None:
    parent = texts.get(found.chunk.parent_id) if found.chunk and found.chunk.parent_id else None
    return _stripped(parent) if parent else None


def _stripped(part: ChunkText) -> MatchedChunk:
    start = part.start + len(part.text) - len(part.text.lstrip())
    text = part.text.strip()
    return MatchedChunk(text=text, start=start, end=start + len(text), source_ids=list(part.source_ids))
