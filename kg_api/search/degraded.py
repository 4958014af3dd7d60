"""What a search could not do, as its answer tells it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kg_api.graph.jobs import Progress
from kg_api.models.search import Degradation
from kg_api.nearest import no_ontology
from kg_api.search.lanes import Lanes
from kg_api.search.query import MAX_TERMS, Query
from kg_api.search.query_vector import QueryVector
from kg_api.search.scope import Scope

MOST_TOLD = 10


def tell(
    query: Query,
    scope: Scope,
    vectors: Sequence[QueryVector],
    lanes: Lanes,
    *,
    text_index: str | None,
    under_way: Mapping[str, Progress],
) -> list[Degradation]:
    """Everything that was left out or done another way.

    Args:
        query: what was asked.
        scope: where it was looked for.
        vectors: of the question.
        lanes: what was found.
        text_index: why the full-text index could not be asked, if it could not.
        under_way: by ontology, how far an embedding is that is not at its end.
    """
    return [
        *_unknown(scope),
        *(each for vector in vectors for each in vector.degraded),
        *_text(query, lanes, text_index),
        *_spaces(query, scope, lanes),
        *_vectors(lanes),
        *_under_way(under_way),
    ]


def tell_of_concepts(scope: Scope, vectors: Sequence[QueryVector]) -> list[Degradation]:
    """What could not be done where sources are found through the question's concepts only."""
    faults = [vector.fault for vector in vectors if vector.fault is not None]
    effects = [f"the question could not be embedded ({why}): looked for by name only" for why in faults]
    return [*_unknown(scope), *(Degradation(part="embedding", effect=effect) for effect in effects)]


def _unknown(scope: Scope) -> Iterator[Degradation]:
    if scope.unknown:
        told = no_ontology(scope.unknown[:MOST_TOLD], scope.there)
        yield Degradation(part="query", effect=f"{told}: nothing can be found in it")


def _text(query: Query, lanes: Lanes, text_index: str | None) -> Iterator[Degradation]:
    wanted = lanes.text is not None or query.request.mode != "vector"
    if wanted and text_index is not None:
        effect = f"the full-text index is {text_index}: searched by vector only"
        yield Degradation(part="text_index", effect=effect)
    elif wanted and query.words_left_out:
        used = f"the first {MAX_TERMS} words were used, {query.words_left_out} were left out"
        yield Degradation(part="query", effect=f"full text: {used}")
    elif wanted and not query.words:
        yield Degradation(part="query", effect="full text: there is no word in the query to look for")


def _spaces(query: Query, scope: Scope, lanes: Lanes) -> Iterator[Degradation]:
    if scope.left_out:
        names = ", ".join(scope.left_out[:10]) + (" and more" if len(scope.left_out) > 10 else "")  # noqa: PLR2004
        effect = f"query_vector is of one space; ontologies of other spaces were not searched by it: {names}"
        yield Degradation(part="vectors", effect=effect)
    if len(lanes.vectors) > 1 and query.request.min_similarity is not None:
        effect = (
            f"min_similarity was applied in {len(lanes.vectors)} spaces alike, though the same number means "
            "different things to different models"
        )
        yield Degradation(part="vectors", effect=effect)


def _vectors(lanes: Lanes) -> Iterator[Degradation]:
    missing = sum(found.without_vector for found in lanes.text or ())
    if missing and lanes.vectors:
        effect = (
            f"{missing} of the passages found by words have no vector yet: they are found by full text only"
        )
        yield Degradation(part="vectors", effect=effect)


def _under_way(under_way: Mapping[str, Progress]) -> Iterator[Degradation]:
    for name, at in list(under_way.items())[:MOST_TOLD]:
        far = f"{at.done} of {at.total} sources"
        effect = f"{name}: embedding is under way ({far}); what is not embedded is not found by meaning"
        yield Degradation(part="vectors", effect=effect)
