"""The job that embeds what an ontology's sources state of concepts."""

from __future__ import annotations

from kg_api.graph.jobs.records import EDGE_EMBEDDING
from kg_api.graph.relations.vectors import EdgePlan
from kg_api.graph.spaces.due import DueText
from kg_api.jobs.embedding.edges.target import EdgeTarget
from kg_api.jobs.embedding.job import TextEmbeddingJob
from kg_api.jobs.embedding.text_target import EmbeddedTexts
from kg_api.jobs.run import JobRun
from kg_api.spaces.plans import EmbeddingState


class EdgeEmbedding(TextEmbeddingJob[DueText, EmbeddedTexts]):
    """Handles jobs of kind `edge_embedding`."""

    kind = EDGE_EMBEDDING

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[EdgeTarget]:
        """The relationships, and their types, of each space that is kept up."""
        return [self._target(run, plan) for plan in embedding_state.edge_plans]

    def _target(self, run: JobRun, plan: EdgePlan) -> EdgeTarget:
        wanted = plan.wanted(run.job.selection, run.job.forced_at)
        return EdgeTarget(self._graph, plan, wanted, self._model(run, plan.space))
