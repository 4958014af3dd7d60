"""The vectors of a question, one for each space: given by the client or embedded here.

Where there is none, search falls back to words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import SourceSearch
from kg_api.search.plan.hyde import average_vectors
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
    waiting: Sequence[str] = ()
    """The indexes for which it cannot: they are not online."""
    hypothetical: Sequence[str] = ()
    """The hypothetical answers that are in the vector."""
    hyde_fault: str | None = None
    """Why hypothetical answers are not in it."""
    fault: str | None = None
    """Why the question could not be embedded."""


def query_vector(
    request: SourceSearch, opened: OpenSpace, waiting: Sequence[str], hypothetical: Sequence[str] = ()
) -> QueryVector:
    """Get the vector of a request in one space.

    Args:
        request: the question.
        opened: the space.
        waiting: those of the indexes to be asked with the vector that are not online.
        hypothetical: answers to be searched by besides the question.

    Raises:
        InvalidInput: the client's vector has another size than the space's vectors.
    """
    space = opened.space
    if request.query_vector is not None:
        given = _check_given(request.query_vector, space)
        return (
            QueryVector(space, given, usable=False)
            if request.mode == "text"
            else QueryVector(space, given, usable=not waiting, waiting=waiting)
        )
    if request.mode == "text":
        return QueryVector(space, None, usable=False)
    try:
        vector, unanswered = average_vectors(
            opened.embed_query(request.query_text or ""), hypothetical, opened
        )
    except (*FAULTS, InvalidInput) as error:  # a provider may refuse what is a fine question to full text
        return QueryVector(space, None, usable=False, fault=str(error))
    answers = () if unanswered else hypothetical
    return QueryVector(space, vector, not waiting, waiting, answers, hyde_fault=unanswered)


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


def _check_given(values: list[float], space: Space) -> NDArray[np.float32]:
    if len(values) != space.dimensions:
        raise InvalidInput(
            f"query_vector has {len(values)} dimensions; the space {space.slug!r} has {space.dimensions}"
        )
    exact = np.asarray(values, dtype=np.float64)
    exact /= np.abs(exact).max()  # so that the squares of very large and very small numbers can be summed
    return (exact / np.linalg.norm(exact)).astype(np.float32)
