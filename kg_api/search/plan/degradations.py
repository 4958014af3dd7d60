"""What of a plan is not as it was asked for, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.graph.fulltext.queries import MAX_TERMS
from kg_api.graph.search.passages import TEXT_INDEX
from kg_api.models.queries.search import Degradation
from kg_api.search.plan.query_vector import QueryVector
from kg_api.search.plan.scope import Scope
from kg_api.search.plan.search_plan import SearchPlan

MAX_TOLD = 10


def describe_degradations(plan: SearchPlan) -> list[Degradation]:
    """What will be left out or done another way."""
    if plan.concepts_alone:
        return describe_concept_degradations(plan.scope, plan.vectors)
    return [*plan.scope.unknown, *_embedding(plan), *_pictures(plan), *_text(plan), *_spaces(plan)]


def describe_concept_degradations(scope: Scope, vectors: Sequence[QueryVector]) -> list[Degradation]:
    """What could not be done where sources are found through the question's concepts only."""
    faults = [vector.fault for vector in vectors if vector.fault is not None]
    effects = [f"the question could not be embedded ({why}): looked for by name only" for why in faults]
    return [*scope.unknown, *(Degradation(part="embedding", effect=effect) for effect in effects)]


def _embedding(plan: SearchPlan) -> Iterator[Degradation]:
    for at, vector in enumerate(plan.vectors):
        if vector.fault is not None:
            yield Degradation(part="embedding", effect=_without_vector(plan, vector))
            continue
        if vector.waiting:
            states = (f"the vector index {name} is {plan.populating[name]}" for name in vector.waiting)
            effect = f"{' and '.join(states)}: searched by full text only"
            yield Degradation(part="vector_index", effect=effect)
        if at == 0 and plan.hyde_fault is not None:
            effect = f"no hypothetical answers ({plan.hyde_fault}): searched by the question alone"
            yield Degradation(part="hyde", effect=effect)
        if vector.hyde_fault is not None:
            where = f"in the space {vector.space.slug!r} ({vector.hyde_fault})"
            effect = f"the hypothetical answers could not be embedded {where}: searched by the question alone"
            yield Degradation(part="hyde", effect=effect)


def _pictures(plan: SearchPlan) -> Iterator[Degradation]:
    told = (each.degradation for each in plan.pictures)
    yield from (each for each in told if each is not None)


def _without_vector(plan: SearchPlan, vector: QueryVector) -> str:
    alone = len(plan.vectors) == 1
    where = "" if alone else f" in the space {vector.space.slug!r}"
    searched = "searched" if alone else "its ontologies were searched"
    searched += f" by full text only{_describe_unmeasured(plan, vector.space.slug)}"
    return f"the question could not be embedded{where} ({vector.fault}): {searched}"


def _describe_unmeasured(plan: SearchPlan, slug: str) -> str:
    """What becomes of a least similarity without a vector, as the end of a sentence."""
    if slug not in plan.similar.least:
        return ""
    if not plan.similar.keep_unmeasured:
        return (
            ", and what that found was left out, for min_similarity cannot be applied without a vector; "
            "try again later, or leave min_similarity out"
        )
    asked_for = plan.request.min_similarity is not None
    return f", and {'min_similarity was not' if asked_for else 'no least similarity was'} applied"


def _text(plan: SearchPlan) -> Iterator[Degradation]:
    state = plan.populating.get(TEXT_INDEX)
    if state is not None and plan.request.mode != "vector":
        effect = f"the full-text index is {state}: searched by vector only"
        yield Degradation(part="text_index", effect=effect)
    elif plan.asks_text and plan.words > MAX_TERMS:
        used = f"the first {MAX_TERMS} words were used, {plan.words - MAX_TERMS} were left out"
        yield Degradation(part="query", effect=f"full text: {used}")
    elif plan.asks_text and not plan.words:
        yield Degradation(part="query", effect="full text: there is no word in the query to look for")


def _spaces(plan: SearchPlan) -> Iterator[Degradation]:
    left_out, lanes = plan.scope.left_out, len(plan.usable)
    if left_out:
        names = ", ".join(left_out[:MAX_TOLD]) + (" and more" if len(left_out) > MAX_TOLD else "")
        effect = f"query_vector is of one space; ontologies of other spaces were not searched by it: {names}"
        yield Degradation(part="vectors", effect=effect)
    if lanes > 1 and plan.request.min_similarity is not None:
        effect = (
            f"min_similarity was applied in {lanes} spaces alike, though the same number means "
            "different things to different models"
        )
        yield Degradation(part="vectors", effect=effect)
