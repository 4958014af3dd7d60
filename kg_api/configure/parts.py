"""What is to be embedded of each kind in an ontology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.concepts.vectors import ConceptPlan, count_concepts
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.library import embedding_status
from kg_api.graph.images.vectors import ImagePlan, count_images
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING, EDGE_EMBEDDING, IMAGE_EMBEDDING
from kg_api.graph.relations.vectors import EdgePlan, count_edges
from kg_api.graph.spaces.due import count_due
from kg_api.graph.spaces.marks import retry_refused
from kg_api.models.embedding.regeneration import Regeneration
from kg_api.models.vocabulary import EmbeddedKind
from kg_api.spaces.plans import EmbeddingState, Plan

JOB_KINDS: Final[dict[EmbeddedKind, str]] = {
    "source": "source_embedding",
    "concept": CONCEPT_EMBEDDING,
    "image": IMAGE_EMBEDDING,
    "edge": EDGE_EMBEDDING,
}
"""The job of each kind of thing that is embedded."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be made of one kind in one ontology."""

    embedding_state: EmbeddingState
    type: EmbeddedKind
    due: int

    @property
    def noun(self) -> str:
        """What one of them is called."""
        return "relationship" if self.type == "edge" else self.type

    def retry_rejected(self, tx: Transaction) -> int:
        """Let what was refused be tried again; how much of it."""
        return sum(retry_refused(tx, plan.ontology, plan.mark) for plan in self._plans())

    def _plans(self) -> Sequence[Plan | ConceptPlan | ImagePlan | EdgePlan]:
        state = self.embedding_state
        return {
            "source": state.plans,
            "concept": state.concept_plans,
            "image": state.image_plans,
            "edge": state.edge_plans,
        }[self.type]


def parts_of(graph: Graph, embedding_state: EmbeddingState, asked: Regeneration) -> list[Part]:
    """What there is to be made; but of sources nothing is told where all kinds are meant and none is due."""
    parts: list[Part] = []
    for kind in JOB_KINDS:
        if asked.type in {kind, "all"}:
            part = Part(embedding_state, kind, _count(graph, kind, embedding_state, asked))
            parts += [part] if part.due or kind in {asked.type, "source"} else []
    return parts


def _count(graph: Graph, kind: EmbeddedKind, state: EmbeddingState, asked: Regeneration) -> int:
    if kind == "source":
        if asked.force:
            return embedding_status(graph, [state.counted], state.ontology).total
        return count_due(graph, state.wanted(state.target, selection=asked.selection))
    if asked.force:
        return _total(graph, kind, state)
    plans: dict[EmbeddedKind, Sequence[ConceptPlan | ImagePlan | EdgePlan]] = {
        "concept": state.concept_plans[-1:],
        "image": state.image_plans[-1:],
        "edge": state.target_edge_plans,
    }
    return sum(count_due(graph, plan.wanted(asked.selection)) for plan in plans[kind])


def _total(graph: Graph, kind: EmbeddedKind, state: EmbeddingState) -> int:
    if kind == "concept":
        return count_concepts(graph, state.concept_plans[-1:]).total
    if kind == "image":
        return count_images(graph, state.image_plans[-1:]).total
    return count_edges(graph, state.target_edge_plans).total
