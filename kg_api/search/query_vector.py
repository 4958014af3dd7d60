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
        given = _given(request, request.query_vector, space)
        return (
            QueryVector(given, usable=False) if request.mode == "text" else _ready(given, space, populating)
        )
    if request.mode == "text":
        return QueryVector(None, usable=False)
    try:
        return _ready(embedder.embed_query(request.query_text or ""), space, populating)
    except (EmbeddingUnavailable, EmbeddingFailed) as error:
        return QueryVector(None, usable=False, degraded=[_without_vector(request, error)])


def _without_vector(request: SourceSearch, error: Exception) -> Degradation:
    effect = f"the question could not be embedded ({error}): searched by full text only"
    if request.min_similarity is not None:
        effect += ", and min_similarity was not applied"
    return Degradation(part="embedding", effect=effect)


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
    exact = np.asarray(values, dtype=np.float64)
    exact /= np.abs(exact).max()  # so that the squares of very large and very small numbers can be summed
    return (exact / np.linalg.norm(exact)).astype(np.float32)
