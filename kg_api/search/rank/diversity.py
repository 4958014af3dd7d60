"""An answer that is not the same thing again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kg_api.models.queries.search import SourceSearch
from kg_api.search.places import PlaceReader
from kg_api.search.plan.search_plan import SearchPlan
from kg_api.search.retrieve.hits import Hit

T = TypeVar("T")
MAX_COMPARED = 500
"""Hits whose texts are compared with each other, five times the largest answer."""


def thin_out(hits: Sequence[Hit], request: SourceSearch, places: PlaceReader) -> list[Hit]:
    """Near-duplicates once, and no more of a document than were asked for."""
    if request.collapse_duplicates:
        hits = without_duplicates(hits[:MAX_COMPARED], places)
    if request.per_document is not None:
        hits = limit_per_group(hits, lambda hit: hit.found.source.document_id, request.per_document)
    return list(hits)


def go_on(kept: Sequence[Hit], hits: Sequence[Hit], request: SourceSearch, places: PlaceReader) -> list[Hit]:
    """What is kept, unchanged, and behind it what deeper lanes found, thinned out with it."""
    known = {hit.identity for hit in kept}
    new = [hit for hit in hits if hit.identity not in known]
    if request.collapse_duplicates and new:
        new = [hit for hit in without_duplicates([*kept, *new], places) if hit.identity not in known]
    every = [*kept, *new]
    if request.per_document is None:
        return every
    return limit_per_group(every, lambda hit: hit.found.source.document_id, request.per_document)


def without_duplicates(hits: Sequence[Hit], places: PlaceReader) -> list[Hit]:
    """The first of each group of near-duplicates, naming the others; without those that were deleted."""
    hits = places.there(hits)
    groups = places.alike([hit.found.source.source_id for hit in hits])
    return [_naming(hits[first], [hits[other] for other in others]) for first, *others in groups]


def _naming(hit: Hit, others: Sequence[Hit]) -> Hit:
    """A hit with those that it stands for, and those that each of them stood for."""
    stood_for = [
        source_id for each in others for source_id in (each.found.source.source_id, *each.duplicates)
    ]
    return hit._replace(duplicates=tuple(dict.fromkeys([*hit.duplicates, *stood_for])))


def diverse(plan: SearchPlan, hits: Sequence[Hit], vectors: Mapping[str, NDArray[np.float32]]) -> list[Hit]:
    """In the order of maximal marginal relevance; one without a vector counts as unlike all others."""
    weight = plan.request.mmr_lambda
    if weight is None:
        return list(hits)
    spaces = [plan.scope.space_of(hit.found.source.ontology) for hit in hits]
    near = similarities([vectors.get(hit.identity) for hit in hits], spaces)
    chosen = marginal_relevance([hit.score for hit in hits], near, weight, plan.reach)
    return [
        hits[at]._replace(score=value, mmr_score=value, mmr_rank=rank)
        for rank, (at, value) in enumerate(chosen, start=1)
    ]


def limit_per_group(items: Iterable[T], group_of: Callable[[T], Hashable], most: int) -> list[T]:
    """The items in their order, at most so many of each group."""
    seen = Counter[Hashable]()
    kept: list[T] = []
    for item in items:
        seen[group_of(item)] += 1
        if seen[group_of(item)] <= most:
            kept.append(item)
    return kept


def similarities(
    vectors: Sequence[NDArray[np.float32] | None], spaces: Sequence[str | None]
) -> NDArray[np.float64]:
    """Cosine of each pair, shape (n, n); 0 where one has no vector, or theirs are of different models."""
    count = len(vectors)
    near = np.zeros((count, count))
    for space in {each for each in spaces if each is not None}:
        own = [at for at in range(count) if spaces[at] == space and vectors[at] is not None]
        if own:
            rows = np.array([vectors[at] for at in own], dtype=np.float64)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            near[np.ix_(own, own)] = rows @ rows.T
    return near


def marginal_relevance(
    scores: Sequence[float], near: NDArray[np.float64], weight: float, limit: int
) -> list[tuple[int, float]]:
    """Order by maximal marginal relevance: each next one is relevant, and unlike those before it.

    Carbonell, Goldstein: The use of MMR, SIGIR 1998: weight * relevance - (1 - weight) * greatest similarity
    to what was chosen. Relevance is the score brought to 0 to 1 over what is given, so that both sides of the
    difference have one scale.

    Returns:
        Which one (its place in `scores`) and its value, at most `limit` of them.
    """
    relevance = _to_unit(np.asarray(scores, dtype=np.float64))
    closest = np.zeros(len(scores))
    chosen: list[tuple[int, float]] = []
    left = list(range(len(scores)))
    while left and len(chosen) < limit:
        values = weight * relevance[left] - (1 - weight) * closest[left]
        best = left[int(np.argmax(values))]  # of equal ones the one that came first
        chosen.append((best, float(values.max())))
        closest = np.maximum(closest, near[best])
        left.remove(best)
    return chosen


def _to_unit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (scores.min(), scores.max()) if scores.size else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)
