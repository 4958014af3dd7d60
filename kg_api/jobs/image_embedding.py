"""The job that embeds an ontology's images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import EmbeddingFailed, FileLost, InvalidInput
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.images import DueImage, ImagePlan, due_images, set_lost_aside, write_image_vectors
from kg_api.graph.jobs import IMAGE_EMBEDDING
from kg_api.graph.spaces import Space, reject
from kg_api.graph.vectors import Wanted, count_due
from kg_api.jobs.embedding import EmbeddingJob, EmbeddingTarget, LostItem, OpenedModel
from kg_api.jobs.runner import JobRun
from kg_api.providers.retrying import RejectedText
from kg_api.spaces.activation import activate_complete_images
from kg_api.spaces.images import ImageSpaceRegistry, OpenImageSpace
from kg_api.spaces.plans import EmbeddingState
from kg_api.spaces.registry import MAX_IMAGE_BATCH

# The model of a space of pictures, as the target of a pass uses it.

ReadBlob = Callable[[str], bytes]
"""Gives the file of a key, or raises FileLost."""


class ImageModel(OpenedModel[OpenImageSpace]):
    """Embeds files for one space of pictures."""

    remembers = False
    """There is no cache of pictures: what was embedded and not written is embedded again."""

    def __init__(
        self, spaces: ImageSpaceRegistry, space: Space, read: ReadBlob, *, requests_at_once: int = 1
    ) -> None:
        """Nothing is opened yet; `requests_at_once`: where its model is elsewhere."""
        super().__init__(space, requests_at_once)
        self._spaces = spaces
        self._read = read
        self.lost = set[str]()
        """Keys of files that are missing or damaged, for sure."""

    def embed(self, storage_keys: Sequence[str]) -> NDArray[np.float32]:
        """Embed the pictures in some files; shape (len(storage_keys), dimensions).

        Raises:
            RejectedText: one of them cannot be read, or is refused; LostItem: its file is lost.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            Unavailable: the files cannot be had at the moment.
        """
        try:
            pixels = [self._spaces.render(self.opened, self._file(key)) for key in storage_keys]
            with self._alone:
                return self._checked(self.opened.embed_pixels(pixels))
        except FileLost as error:
            raise LostItem(str(error)) from error
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def _file(self, key: str) -> bytes:
        try:
            return self._read(key)
        except FileLost:
            self.lost.add(key)
            raise

    def _find(self) -> OpenImageSpace:
        return self._spaces.of(self._space)


# Pictures that are embedded: by what is seen on them.

PIXEL_BYTES_A_CHARACTER = 64
"""So that a flight of eight batches of a model that wants large pictures holds 256 MB and not a gigabyte."""
EmbeddedImages = Sequence[tuple[DueImage, NDArray[np.float32]]]


class ImageTarget(EmbeddingTarget[DueImage, EmbeddedImages]):
    """The pictures of an ontology that are due in a space, in the order of their ids."""

    noun = "image"
    is_written_together = True

    def __init__(self, graph: Graph, plan: ImagePlan, wanted: Wanted, model: ImageModel) -> None:
        self.name = f"{plan.space.slug}={plan.mark.value}"
        self._graph = graph
        self._plan = plan
        self._wanted = wanted
        self._model = model

    @property
    def model(self) -> ImageModel:
        return self._model

    def due(self, after: str, limit: int) -> list[DueImage]:
        return due_images(self._graph, self._wanted, after=after, limit=limit)

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[DueImage]) -> EmbeddedImages:
        """Embed pictures.

        Raises:
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            RejectedText: one of them cannot be read, or is refused.
        """
        vectors = self._model.embed([each.storage_key for each in items])
        return list(zip(items, vectors, strict=True))

    def characters(self, items: Sequence[DueImage]) -> int:
        """What they take as pixels, in the memory of a text: a flight's bound is one of memory."""
        rendering = self._model.opened.rendering
        return len(items) * rendering.width * rendering.height * 3 // PIXEL_BYTES_A_CHARACTER

    def write(self, tx: Transaction, batch: EmbeddedImages) -> int:
        """Write the vectors of those whose file is still the same; how many."""
        return write_image_vectors(tx, self._plan, batch)

    def reject(self, tx: Transaction, item: DueImage, reason: str) -> None:
        """Mark a picture that cannot be embedded."""
        plan, made_for = self._plan, item.storage_key
        if made_for in self._model.lost:
            set_lost_aside(tx, plan, item, reason)
            return
        reject(tx, plan.space, plan.mark, identity=item.source_id, text_hash=made_for, reason=reason)


# The job that embeds an ontology's pictures.


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
