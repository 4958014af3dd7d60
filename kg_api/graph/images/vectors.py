"""Vectors of pictures: what is to be embedded, and writing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.chunks import require_fitting
from kg_api.graph.spaces.due import Wanted, due_in_order
from kg_api.graph.spaces.marks import Mark, mark_of_model, require_writable
from kg_api.graph.spaces.registry import Space
from kg_api.models.library.documents import ImageCounts
from kg_api.models.vocabulary import Selection


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """How the pictures of an ontology shall be embedded: in a space of pictures."""

    ontology: str
    space: Space
    answering: Space
    """What answers searches, which may be another space than is being built."""

    @property
    def mark(self) -> Mark:
        """Of a picture that is embedded so."""
        return mark_of_model("Image", "image", self.space)

    def wanted(self, selection: Selection = "due", forced_at: object = None) -> Wanted:
        """The pictures that are to be embedded by it."""
        return Wanted(self.ontology, self.mark, self.answering.mark_property, selection, forced_at)


@dataclass(frozen=True, slots=True)
class DueImage:
    """A picture that is to be embedded, and the file of it."""

    source_id: str
    storage_key: str

    @property
    def identity(self) -> str:
        return self.source_id

    place = identity
    """Pictures are looked at in the order of their ids."""


def due_images(graph: Graph, wanted: Wanted, *, after: str, limit: int) -> list[DueImage]:
    """The next pictures that are not embedded as they shall be; see `due_in_order`."""
    rows = due_in_order(graph, wanted, after=after, limit=limit)
    return [DueImage(row["source_id"], row["storage_key"]) for row in rows]


def count_images(graph: Graph, plans: Sequence[ImagePlan]) -> ImageCounts:
    """How many pictures of some ontologies have the vector they should have."""
    row = graph.read("images/count_embedded", plans=[plan.wanted().parameters() for plan in plans])[0]
    return ImageCounts(**row, stale=row["total"] - row["embedded"] - row["refused"] - row["missing"])


def write_image_vectors(
    tx: Transaction, plan: ImagePlan, vectors: Sequence[tuple[DueImage, NDArray[np.float32]]]
) -> int:
    """Write within the caller's transaction the vectors of pictures whose file is still the same.

    Args:
        tx: the transaction.
        plan: how they were embedded.
        vectors: by picture, in the order of their ids; shape (dimensions,).

    Returns:
        How many are done; the others stay due.

    Raises:
        EmbeddingFailed: a vector is of the wrong size, not finite or zero.
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_fitting(tx, plan.space, (vector for _, vector in vectors))
    rows = [
        {"source_id": each.source_id, "storage_key": each.storage_key, "vector": Vector.from_numpy(vector)}
        for each, vector in vectors
    ]
    parameters = {**plan.mark.parameters(), "property": plan.space.vector_property}
    return tx.run("images/write_vectors", rows=rows, **parameters)[0]["written"]


def set_lost_aside(tx: Transaction, plan: ImagePlan, image: DueImage, reason: str) -> bool:
    """Set a picture aside whose file is lost, until that comes again; whether that was done.

    Raises:
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_writable(tx, plan.space)
    parameters = {**plan.mark.parameters(), "property": plan.space.vector_property, "reason": reason}
    rows = tx.run("images/lose", id=image.source_id, storage_key=image.storage_key, **parameters)
    return bool(rows)


def check_image_vectors(graph: Graph, plan: ImagePlan) -> tuple[int, int]:
    """Look at every vector of an ontology's pictures in a space; how many there are, and how many wrong."""
    parameters = {**plan.mark.parameters(), "property": plan.space.vector_property}
    given = {"ontology": plan.ontology, "dimensions": plan.space.dimensions}
    row = graph.read("images/check_vectors", **parameters, **given)[0]
    return row["built"], row["wrong"]
