"""The vectors of a question, one for each space: given by the client or embedded here.

Where there is none, search falls back to words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.spaces import Space
from kg_api.models.search import Degradation, SourceSearch
from kg_api.search.hyde import NOTHING, Imagined, joined
from kg_api.search.similarity_filter import SimilarityFilter
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.open_space import OpenSpace


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector in one space, or why there is none."""

    space: Space
    vector: NDArray[np.float32] | None
    """Shape (dimensions,), length 1."""
    usable: bool
    """Whether the vector lane can be asked with it."""
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    imagined: Sequence[str] = ()
    """The hypothetical answers that are in the vector."""
    fault: str | None = None
    """Why the question could not be embedded."""


def query_vector(
    request: SourceSearch,
    opened: OpenSpace,
    populating: dict[str, str],
    indexes: Sequence[str],
    *,
    alone: bool,
    imagined: Imagined = NOTHING,
    similar: SimilarityFilter | None = None,
) -> QueryVector:
    """Get the vector of a request in one space.

    Args:
        request: the question.
        opened: the space.
        populating: indexes that are not online.
        indexes: those that are to be asked with the vector.
        alone: whether this is the only space that is searched.
        imagined: hypothetical answers to be searched by besides the question.
        similar: what is similar enough; None: everything.

    Raises:
        InvalidInput: the client's vector has another size than the space's vectors.
    """
    space = opened.space
    if request.query_vector is not None:
        given = _given(request.query_vector, space)
        return (
            QueryVector(space, given, usable=False)
            if request.mode == "text"
            else _ready(given, space, populating, indexes)
        )
    if request.mode == "text":
        return QueryVector(space, None, usable=False)
    try:
        vector, untold = joined(opened.embed_query(request.query_text or ""), imagined, opened)
        ready = _ready(vector, space, populating, indexes)
        told = [*ready.degraded, *imagined.degraded, *untold]
        return replace(ready, degraded=told, imagined=() if untold else imagined.texts)
    except (*FAULTS, InvalidInput) as error:  # a provider may refuse what is a fine question to full text
        unmeasured = _unmeasured(similar, space.slug, request)
        told = _without_vector(error, "" if alone else f" in the space {space.slug!r}", unmeasured)
        return QueryVector(space, None, usable=False, degraded=[told], fault=str(error))


def require_space(request: SourceSearch, slugs: Sequence[str]) -> None:
    """Refuse a client's vector of a space that is not searched.

    Raises:
        Conflict: saying which spaces are.
    """
    if request.query_vector is not None and request.space not in slugs:
        raise Conflict(
            f"query_vector is of the space {request.space!r}, but this search uses "
            f"{', '.join(map(repr, slugs))}; vectors of two spaces cannot be compared"
        )


def _without_vector(error: Exception, where: str, unmeasured: str) -> Degradation:
    searched = "its ontologies were searched" if where else "searched"
    effect = f"the question could not be embedded{where} ({error}): {searched} by full text only{unmeasured}"
    return Degradation(part="embedding", effect=effect)


def _unmeasured(similar: SimilarityFilter | None, slug: str, request: SourceSearch) -> str:
    """What becomes of a least similarity without a vector, as the end of a sentence."""
    if similar is None or slug not in similar.least:
        return ""
    if not similar.keep_unmeasured:
        return (
            ", and what that found was left out, for min_similarity cannot be applied without a vector; "
            "try again later, or leave min_similarity out"
        )
    asked_for = request.min_similarity is not None
    return f", and {'min_similarity was not' if asked_for else 'no least similarity was'} applied"


def _ready(
    vector: NDArray[np.float32], space: Space, populating: dict[str, str], indexes: Sequence[str]
) -> QueryVector:
    waiting = [name for name in indexes if name in populating]
    if not waiting:
        return QueryVector(space, vector, usable=True)
    states = " and ".join(f"the vector index {name} is {populating[name]}" for name in waiting)
    told = [Degradation(part="vector_index", effect=f"{states}: searched by full text only")]
    return QueryVector(space, vector, usable=False, degraded=told)


def _given(values: list[float], space: Space) -> NDArray[np.float32]:
    if len(values) != space.dimensions:
        raise InvalidInput(
            f"query_vector has {len(values)} dimensions; the space {space.slug!r} has {space.dimensions}"
        )
    exact = np.asarray(values, dtype=np.float64)
    exact /= np.abs(exact).max()  # so that the squares of very large and very small numbers can be summed
    return (exact / np.linalg.norm(exact)).astype(np.float32)
