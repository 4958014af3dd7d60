"""What is around a concept: those related to it, hop by hop, and a picture of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from kg_api.graph.concepts.reads import (
    Relation,
    StatedRelation,
    appearing_with,
    relations_of,
    statements_among,
)
from kg_api.graph.database import Graph
from kg_api.models.concepts.queries import (
    APPEARS_WITH,
    Concept,
    Neighbourhood,
    PathStep,
    RelatedConcept,
    RelatedConcepts,
)
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_RELATED

FAN_OUT = MAX_RELATED + 1
"""So many around one concept are looked at: those that are not given are counted up to it."""
MAX_STEPS = 2000
"""Edges of a picture, besides those by which its concepts were reached."""
NOT_ALL = "some concepts have very many relationships: not all connections among them are given"
NOTHING_STATED = (
    "no text states a relationship of it: those that appear in the same sources were given, as 'appears with'"
)


def find_related(graph: Graph, concept: Concept, hops: int, limit: int) -> RelatedConcepts:
    """What a concept is related to within some hops; where nothing is stated, what is in the same sources."""
    found = _hops(graph, concept.concept_id, hops, limit)
    degraded: list[Degradation] = []
    if not found:
        shared = appearing_with(graph, concept.concept_id, APPEARS_WITH, FAN_OUT)
        found = [_to_related(each, 1) for each in shared]
        degraded = [Degradation(part="concepts", effect=NOTHING_STATED)] if found else []
    return RelatedConcepts(
        concept=concept,
        hops=hops,
        related=found[:limit],
        more_related=max(0, len(found) - limit),
        degraded=degraded,
    )


def neighbourhood(graph: Graph, concept: Concept, limit: int) -> Neighbourhood:
    """A concept and those around it as nodes and edges: first what is stated, then what is in its sources."""
    own = concept.concept_id
    near = _hops(graph, own, 2, limit)
    shared = appearing_with(graph, own, APPEARS_WITH, FAN_OUT)
    every = {each.concept.concept_id: each.concept for each in near}
    every |= {
        each.concept.concept_id: each.concept for each in shared if each.concept.concept_id not in every
    }
    taken = dict(list(every.items())[:limit])
    stated, cut = statements_among(graph, [own, *taken], MAX_STEPS)
    linked = {each.concept.concept_id for each in near if each.hops == 1}
    beside = [
        each for each in shared if each.concept.concept_id in taken and each.concept.concept_id not in linked
    ]
    return Neighbourhood(
        centre=own,
        concepts=[concept, *taken.values()],
        steps=_once_each([*_near_steps(own, near, taken), *_steps(stated), *_shared_steps(own, beside)]),
        left_out=len(every) - len(taken),
        degraded=_describe_degradation(nothing=bool(shared and not near), cut=cut),
    )


def _hops(graph: Graph, own: str, hops: int, limit: int) -> list[RelatedConcept]:
    """One more than asked for at least, where there are so many; each concept at its nearest hop only."""
    found: list[RelatedConcept] = []
    seen, frontier = {own}, [own]
    for hop in range(1, hops + 1):
        relations = relations_of(graph, frontier, FAN_OUT)
        new = [each for each in relations if each.concept.concept_id not in seen]
        new = new if hop == 1 else _once(new)
        found += [_to_related(each, hop) for each in new]
        frontier = list(dict.fromkeys(each.concept.concept_id for each in new))[:limit]
        seen |= {each.concept.concept_id for each in new}
        if len(found) > limit or not frontier:
            break
    return found


def _describe_degradation(*, nothing: bool, cut: bool) -> list[Degradation]:
    effects = [NOTHING_STATED] if nothing else []
    effects += [NOT_ALL] if cut else []
    return [Degradation(part="concepts", effect=effect) for effect in effects]


def _once(relations: Iterable[Relation]) -> list[Relation]:
    first: dict[str, Relation] = {}
    for each in relations:
        first.setdefault(each.concept.concept_id, each)
    return list(first.values())


def _to_related(each: Relation, hop: int) -> RelatedConcept:
    return RelatedConcept(
        concept=each.concept,
        type=each.type,
        outgoing=each.outgoing,
        confidence=each.confidence,
        sources=each.sources,
        hops=hop,
        via=each.of if hop > 1 else None,
    )


def _near_steps(own: str, near: Sequence[RelatedConcept], taken: Container[str]) -> list[PathStep]:
    """How each concept was reached: so the picture hangs together whatever else is left out."""
    steps: list[PathStep] = []
    for each in near:
        ends = (each.via or own, each.concept.concept_id)
        if ends[1] in taken and (each.via is None or each.via in taken):
            subject, target = ends if each.outgoing else ends[::-1]
            steps.append(PathStep(subject=subject, type=each.type, object=target, sources=each.sources))
    return steps


def _once_each(steps: Iterable[PathStep]) -> list[PathStep]:
    first: dict[tuple[str, str, str], PathStep] = {}
    for each in steps:
        first.setdefault((each.subject, each.type.lower(), each.object), each)
    return list(first.values())


def _steps(stated: Sequence[StatedRelation]) -> list[PathStep]:
    return [
        PathStep(subject=each.subject, type=each.type, object=each.object, sources=each.sources)
        for each in stated
    ]


def _shared_steps(own: str, relations: Sequence[Relation]) -> list[PathStep]:
    return [
        PathStep(subject=own, type=APPEARS_WITH, object=each.concept.concept_id, sources=each.sources)
        for each in relations
    ]
