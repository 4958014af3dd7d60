"""The job that embeds an ontology's concepts, and has those merged that turn out to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kg_api.graph.concepts.vectors import ConceptPlan
from kg_api.graph.database import Graph
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING
from kg_api.graph.spaces.due import DueText
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.embedding.concept_target import ConceptTarget
from kg_api.jobs.embedding.job import TextEmbeddingJob
from kg_api.jobs.embedding.text_target import EmbeddedTexts
from kg_api.jobs.run import JobRun
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.registry import SpaceRegistry

MergeNear = Callable[[Graph, Space, str, Iterable[str]], int]
"""Links concepts of an ontology with what is near by vectors of a space, and merges those that are the same;
how many went."""
LinkNear = Callable[[Graph, Space, str, Iterable[str]], object]
"""Links them only."""


class ConceptEmbedding(TextEmbeddingJob[DueText, EmbeddedTexts]):
    """Handles jobs of kind `concept_embedding`."""

    kind = CONCEPT_EMBEDDING

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        batch_size: int,
        merge_near: MergeNear,
        *,
        link_near: LinkNear,
        requests_at_once: int = 1,
    ) -> None:
        super().__init__(graph, spaces, passages, batch_size, requests_at_once=requests_at_once)
        self._merge_near = merge_near
        self._link_near = link_near

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[ConceptTarget]:
        """The concepts of each space that is kept up."""
        return [self._target(run, plan) for plan in embedding_state.concept_plans]

    def _target(self, run: JobRun, plan: ConceptPlan) -> ConceptTarget:
        wanted = plan.wanted(run.job.selection, run.job.forced_at)
        model = self._model(run, plan.space)
        return ConceptTarget(self._graph, plan, wanted, model, lambda ids: self._merge(plan, ids))

    def _merge(self, plan: ConceptPlan, concept_ids: Iterable[str]) -> None:
        """Merge by what answers: a space that is being built does not decide over the graph yet."""
        if plan.space.slug == plan.answering.slug:
            self._merge_near(self._graph, plan.space, plan.ontology, concept_ids)
        else:
            self._link_near(self._graph, plan.space, plan.ontology, concept_ids)
