"""The job that embeds an ontology's pictures."""

from __future__ import annotations

from kg_api.graph.database import Graph
from kg_api.graph.images.vectors import DueImage, ImagePlan
from kg_api.graph.jobs.records import IMAGE_EMBEDDING
from kg_api.jobs.embedding.image_model import ImageModel, ReadBlob
from kg_api.jobs.embedding.image_target import EmbeddedImages, ImageTarget
from kg_api.jobs.embedding.job import EmbeddingJob
from kg_api.jobs.run import JobRun
from kg_api.spaces.activation import activate_complete_images
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.providers import MAX_IMAGE_BATCH


class ImageEmbedding(EmbeddingJob[DueImage, EmbeddedImages]):
    """Handles jobs of kind `image_embedding`."""

    kind = IMAGE_EMBEDDING

    def __init__(
        self,
        graph: Graph,
        spaces: ImageSpaceRegistry,
        read: ReadBlob,
        batch_size: int,
        *,
        requests_at_once: int = 1,
    ) -> None:
        """`read`: gives files; `requests_at_once`: of models elsewhere."""
        super().__init__(graph, min(batch_size, MAX_IMAGE_BATCH))
        self._spaces = spaces
        self._read = read
        self._requests_at_once = requests_at_once

    def targets(self, run: JobRun, embedding_state: EmbeddingState) -> list[ImageTarget]:
        """The pictures of each space that is kept up."""
        return [self._target(run, plan) for plan in embedding_state.image_plans]

    def complete(self, embedding_state: EmbeddingState) -> None:
        """Let a space that is complete answer."""
        activate_complete_images(self._graph, embedding_state)

    def _target(self, run: JobRun, plan: ImagePlan) -> ImageTarget:
        wanted = plan.wanted(run.job.selection, run.job.forced_at)
        at_once = self._requests_at_once
        model = ImageModel(self._spaces, plan.space, self._read, requests_at_once=at_once)
        return ImageTarget(self._graph, plan, wanted, model)
