"""Pictures that are embedded: by what is seen on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.images.vectors import DueImage, ImagePlan, due_images, set_lost_aside, write_image_vectors
from kg_api.graph.spaces.due import Wanted, count_due
from kg_api.graph.spaces.marks import reject
from kg_api.jobs.embedding.image_model import ImageModel
from kg_api.jobs.embedding.target import EmbeddingTarget

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
