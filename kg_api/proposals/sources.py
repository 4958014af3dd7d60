"""Links that may be between sources of different documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.database import Graph
from kg_api.graph.proposals.due import DueNode
from kg_api.graph.proposals.reads import Pair, sources_apart
from kg_api.graph.proposals.writes import LinkEnd, NewProposal
from kg_api.graph.search.passages import chunk_texts
from kg_api.graph.search.similar import (
    NearSource,
    SimilarityQuery,
    VectorPart,
    nearest,
    places_of,
    vectors_of,
)
from kg_api.graph.spaces.registry import Space
from kg_api.models.identity import content_hash
from kg_api.models.proposals.configuration import UsedProposals
from kg_api.models.queries.places import Place
from kg_api.proposals.near import KEPT, MAX_SOURCES, Near, candidates, contrast_of, mutual_pairs
from kg_api.proposals.proposing import new_proposal
from kg_api.proposals.repeated import PlacedText, is_copy, is_repeated, says_enough

MAX_PARTS: Final = 4
"""Chunks of one source that are compared, from its beginning."""
PASSAGES: Final = KEPT + 2
"""Asked of the index for each vector: several may be of one source."""


@dataclass(slots=True)
class _Seen:
    """What is known of a batch and of what is near to it."""

    places: dict[str, Place]
    parts: dict[str, list[VectorPart]]
    near: dict[str, list[Near]]


class SourceLinks:
    """Looks for links of sources of an ontology, as one space has their vectors."""

    def __init__(self, graph: Graph, ontology: str, space: Space, used: UsedProposals) -> None:
        self._graph = graph
        self._ontology = ontology
        self._space = space
        self._used = used

    def propose(self, due: Sequence[DueNode]) -> list[NewProposal]:
        """What may be linked to some sources."""
        asked = [each.id for each in due]
        seen = _Seen({}, {}, {})
        self._look(asked, seen)
        self._look(candidates(asked, seen.near, self._used.neighbours, self._used.min_similarity), seen)
        pairs = [
            (own, near)
            for own, near in mutual_pairs(asked, seen.near, self._used.neighbours, self._used.min_similarity)
            if contrast_of(own, near, seen.near) >= self._used.min_contrast
            and self._says_something(own, near.id, seen)
        ]
        apart = self._apart([(own, near.id) for own, near in pairs])
        chosen = [(own, near) for own, near in pairs if (own, near.id) in apart]
        return self._present(chosen, seen)

    def _look(self, ids: Sequence[str], seen: _Seen) -> None:
        """Find what is nearest to some sources; a picture and what has no vector has nothing near."""
        places = {each.source_id: each for each in places_of(self._graph, ids) if each.kind == "passage"}
        parts = vectors_of(self._graph, list(places), {self._ontology: self._space}, self._space)
        known = [each for each in places if parts.get(each)]
        asked = [SimilarityQuery(places[each], parts[each][:MAX_PARTS]) for each in known]
        found = nearest(self._graph, asked, self._space, [self._ontology], PASSAGES)[0] if asked else []
        seen.parts |= parts
        seen.places |= {each.place.source_id: each.place for each in found} | places
        by_number = dict[int, list[NearSource]]()
        for each in found:
            by_number.setdefault(each.asked, []).append(each)
        seen.near |= {own: _each_once(by_number.get(at, ())) for at, own in enumerate(known)}

    def _says_something(self, own: str, other: str, seen: _Seen) -> bool:
        texts = [seen.places[each].full_text for each in (own, other)]
        return (
            all(map(says_enough, texts))
            and not is_copy(*texts)
            and not any(self._is_repeated(each, seen) for each in (own, other))
        )

    def _is_repeated(self, own: str, seen: _Seen) -> bool:
        return is_repeated(
            _passage(seen.places[own]), (_passage(seen.places[each.id]) for each in seen.near[own])
        )

    def _apart(self, pairs: Sequence[Pair]) -> set[Pair]:
        if not pairs:
            return set()
        return sources_apart(self._graph, pairs, hops=self._used.hops, most_sources=MAX_SOURCES)

    def _present(self, chosen: Sequence[tuple[str, Near]], seen: _Seen) -> list[NewProposal]:
        chunks = {own: seen.parts[own][near.part].chunk_id for own, near in chosen}
        wanted = [each for own, near in chosen for each in (chunks[own], near.chunk_id) if each]
        texts = chunk_texts(self._graph, wanted) if wanted else {}
        spans = {identity: (text.start, text.end) for identity, text in texts.items()}
        return [self._proposal(own, near, chunks[own], spans, seen) for own, near in chosen]

    def _proposal(
        self, own: str, near: Near, chunk: str | None, spans: Mapping[str, tuple[int, int]], seen: _Seen
    ) -> NewProposal:
        first, second = seen.places[own], seen.places[near.id]
        return new_proposal(
            "source",
            (_end(first, spans.get(chunk or "")), _end(second, spans.get(near.chunk_id or ""))),
            (first.full_text, second.full_text),
            similarity=near.similarity,
            contrast=contrast_of(own, near, seen.near),
            space=self._space,
            used=self._used,
        )


def _passage(place: Place) -> PlacedText:
    return PlacedText(place.document_id, place.heading, place.full_text)


def _each_once(found: Iterable[NearSource]) -> list[Near]:
    """The nearest passage of each source, the nearest first."""
    best = dict[str, Near]()
    for each in sorted(found, key=lambda near: -near.similarity):
        near = Near(each.place.source_id, each.similarity, each.part, each.chunk_id)
        best.setdefault(near.id, near)
    return list(best.values())[:KEPT]


def _end(place: Place, span: tuple[int, int] | None) -> LinkEnd:
    """A chunk that reaches beyond its source is quoted as far as the source goes."""
    text_hash = content_hash(place.full_text)
    if span is None:
        return LinkEnd(place.source_id, text_hash)
    start, end = (min(max(at - place.start, 0), len(place.full_text)) for at in span)
    if start >= end:
        return LinkEnd(place.source_id, text_hash)
    return LinkEnd(place.source_id, text_hash, start, end)
