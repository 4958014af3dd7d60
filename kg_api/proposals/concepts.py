"""Links that may be between concepts of different documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kg_api.graph.database import Graph
from kg_api.graph.proposals.due import DueNode
from kg_api.graph.proposals.near import ConceptName, near_concepts
from kg_api.graph.proposals.reads import Pair, concepts_apart
from kg_api.graph.proposals.writes import LinkEnd, NewProposal
from kg_api.graph.spaces.registry import Space
from kg_api.models.proposals.configuration import UsedProposals
from kg_api.proposals.near import KEPT, Near, contrast_of, mutual_pairs
from kg_api.proposals.reason import reason_of, shared_words
from kg_api.proposals.used import score_of


@dataclass(slots=True)
class _Seen:
    names: dict[str, ConceptName] = field(default_factory=dict[str, ConceptName])
    near: dict[str, list[Near]] = field(default_factory=dict[str, list[Near]])


class ConceptLinks:
    """Looks for links of concepts of an ontology, as one space has their vectors."""

    kind = "concept"

    def __init__(self, graph: Graph, ontology: str, space: Space, used: UsedProposals) -> None:
        self._graph = graph
        self._ontology = ontology
        self._space = space
        self._used = used

    def propose(self, due: Sequence[DueNode]) -> list[NewProposal]:
        """What may be linked to some concepts."""
        asked, seen, least = [each.id for each in due], _Seen(), self._used.min_concept_similarity
        self._look(asked, seen)
        near = (each for own in asked for each in seen.near.get(own, ())[: self._used.neighbours])
        self._look([*{each.id for each in near if each.similarity >= least} - seen.near.keys()], seen)
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
        for own, other, similarity in near_concepts(self._graph, self._space, self._ontology, ids, KEPT):
            seen.names |= {own.id: own, other.id: other}
            seen.near.setdefault(own.id, []).append(Near(other.id, similarity))

    def _apart(self, pairs: Sequence[Pair]) -> dict[Pair, tuple[int, int]]:
        return concepts_apart(self._graph, pairs, hops=self._used.hops) if pairs else {}

    def _proposal(self, own: str, near: Near, seen: _Seen) -> NewProposal:
        first, second = seen.names[own], seen.names[near.id]
        contrast = contrast_of(own, near, seen.near)
        reason = reason_of(
            "concept",
            near.similarity,
            within=self._used.neighbours,
            hops=self._used.hops,
            contrast=contrast,
            shared=shared_words(first.words, second.words),
        )
        return NewProposal(
            "concept",
            LinkEnd(own, first.text_hash),
            LinkEnd(near.id, second.text_hash),
            score=score_of(contrast, self._space),
            similarity=near.similarity,
            reason=reason,
        )
