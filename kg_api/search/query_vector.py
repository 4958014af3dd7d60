"""The vector of a question: given by the client or embedded here; without one, search falls back to words."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Embedder
from kg_api.errors import Conflict, EmbeddingFailed, EmbeddingUnavailable, InvalidInput
from kg_api.graph.spaces import Space
from kg_api.models.search import Degradation, SourceSearch


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector, or why there is none."""

    vector: NDArray[np.float32] | None
    """Shape (dimensions,), length 1."""
    usable: bool
    """Whether the vector lane can be asked with it."""
    degraded: list[Degradation] = field(default_factory=list[Degradation])

    def required(self) -> NDArray[np.float32]:
        """The vector; only for those who know that it is usable."""
        if self.vector is None:
            raise EmbeddingUnavailable
        return self.vector


def query_vector(
    request: SourceSearch, embedder: Embedder, space: Space, populating: dict[str, str]
) -> QueryVector:
    """Get the vector of a request.

    Raises:
        InvalidInput: the client's vector has another size than the space's vectors.
        Conflict: the client's vector is of another space.
    """
    if request.query_vector is not None:
        return _ready(_given(request, request.query_vector, space), space, populating)
    if request.mode == "text":
        return QueryVector(None, usable=False)
    try:
        return _ready(embedder.embed_query(request.query_text or ""), space, populating)
    except (EmbeddingUnavailable, EmbeddingFailed) as error:
        effect = f"the question could not be embedded ({error}): searched by full text only"
        return QueryVector(None, usable=False, degraded=[Degradation(part="embedding", effect=effect)])


def _ready(vector: NDArray[np.float32], space: Space, populating: dict[str, str]) -> QueryVector:
    if space.index_name not in populating:
        return QueryVector(vector, usable=True)
    effect = f"the vector index is {populating[space.index_name]}: searched by full text only"
    return QueryVector(vector, usable=False, degraded=[Degradation(part="vector_index", effect=effect)])


def _given(request: SourceSearch, values: list[float], space: Space) -> NDArray[np.float32]:
    if request.space != space.slug:
        raise Conflict(
            f"query_vector is of the space {request.space!r}, but this search uses {space.slug!r}; "
            "vectors of two spaces cannot be compared"
        )
    if len(values) != space.dimensions:
        raise InvalidInput(
            f"query_vector has {len(values)} dimensions; the space {space.slug!r} has {space.dimensions}"
        )
    vector = np.asarray(values, dtype=np.float32)
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(vector).all() or not length:
        raise InvalidInput("query_vector does not fit 32-bit numbers; normalise it")
    return vector / np.float32(length)
