"""Links that may be between concepts of different documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kg_api.graph.concepts.names import Text
from kg_api.graph.concepts.vectors import near_concepts
from kg_api.graph.database import Graph
from kg_api.graph.proposals.due import DueNode
from kg_api.graph.proposals.reads import Pair, concepts_apart
from kg_api.graph.proposals.writes import LinkEnd, NewProposal
from kg_api.graph.spaces.registry import Space
from kg_api.models.proposals.configuration import UsedProposals
from kg_api.proposals.near import KEPT, MAX_SOURCES, Near, candidates, contrast_of, mutual_pairs
from kg_api.proposals.proposing import new_proposal

ANY_COSINE: Final = -2.0
"""However far it is: what else is near tells what stands out."""


@dataclass(slots=True)
class _Seen:
    texts: dict[str, Text] = field(default_factory=dict[str, Text])
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    near: dict[str, list[Near]] = field(default_factory=dict[str, list[Near]])


class ConceptLinks:
    """Looks for links of concepts of an ontology, as one space has their vectors."""

    def __init__(self, graph: Graph, ontology: str, space: Space, used: UsedProposals) -> None:
        self._graph = graph
        self._ontology = ontology
        self._space = space
        self._used = used

    def propose(self, due: Sequence[DueNode]) -> list[NewProposal]:
        """What may be linked to some concepts."""
        asked, seen, least = [each.id for each in due], _Seen(), self._used.min_concept_similarity
        self._look(asked, seen)
        self._look(candidates(asked, seen.near, self._used.neighbours, least), seen)
        pairs = [
            (own, near)
            for own, near in mutual_pairs(asked, seen.near, self._used.neighbours, least)
            if contrast_of(own, near, seen.near) >= self._used.min_concept_contrast
        ]
        apart = self._apart([(own, near.id) for own, near in pairs])
        return [self._proposal(own, near, seen) for own, near in pairs if (own, near.id) in apart]

    def _look(self, ids: Sequence[str], seen: _Seen) -> None:
        if not ids:
            return
        space, ontology = self._space, self._ontology
        for each in near_concepts(self._graph, space, ontology, ids, KEPT, least=ANY_COSINE):
            own, other = each.ids
            seen.texts |= zip(each.ids, each.texts, strict=True)
            seen.hashes |= zip(each.ids, each.text_hashes, strict=True)
            seen.near.setdefault(own, []).append(Near(other, each.cosine))

    def _apart(self, pairs: Sequence[Pair]) -> dict[Pair, tuple[int, int]]:
        if not pairs:
            return {}
        return concepts_apart(self._graph, pairs, hops=self._used.hops, most_sources=MAX_SOURCES)

    def _proposal(self, own: str, near: Near, seen: _Seen) -> NewProposal:
        ends, texts = (own, near.id), (seen.texts[own], seen.texts[near.id])
        first, second = (LinkEnd(each, seen.hashes[each]) for each in ends)
        one, other = (" ".join((text.label, *text.terms)) for text in texts)
        return new_proposal(
            "concept",
            (first, second),
            (one, other),
            similarity=near.similarity,
            contrast=contrast_of(own, near, seen.near),
            space=self._space,
            used=self._used,
        )
