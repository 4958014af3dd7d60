"""Concepts are linked with what is near to them in meaning, and those that are one become one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import structlog

from kg_api.concepts.merging.matching import Reason, least_cosine, likeness, same
from kg_api.errors import TooMuchAtOnce
from kg_api.graph.concepts.merging import Why, merge_concepts
from kg_api.graph.concepts.names import Text
from kg_api.graph.concepts.vectors import NearConcepts, least_near, link_concepts, near_concepts
from kg_api.graph.database import Graph, portions
from kg_api.graph.spaces.registry import Space

NEIGHBOURS = 20
"""So many of each concept are looked at."""
PORTION = 64
"""Concepts whose neighbours are looked at together."""
ASKED_AT_ONCE = 16
"""Of them, by one statement; the statements run beside each other."""
log = structlog.get_logger()


def merge_near(graph: Graph, space: Space, ontology: str, concept_ids: Iterable[str]) -> int:
    """Link some concepts, and merge them with those of their ontology that are the same; how many went.

    What a merge leaves is looked at again. Safe to repeat, and while others write or merge. The text of a
    concept that another went into has changed, so it is due for embedding, whatever its id. Two of so many
    sources that merging them takes more than one transaction has stay two.

    Args:
        graph: where they are.
        space: whose vectors are compared; those without one are passed over.
        ontology: of the concepts.
        concept_ids: those that are new, or were embedded anew.

    Raises:
        DatabaseUnavailable: Neo4j does not answer; what is merged stays merged.
    """
    waiting = deque(dict.fromkeys(concept_ids))
    merged = 0
    while waiting:
        ids = [waiting.popleft() for _ in range(min(PORTION, len(waiting)))]
        near = _link(graph, space, ontology, ids)
        left = [kept for pair in _pairs(near, space) if (kept := _merge_pair(graph, pair, space))]
        merged += len(left)
        waiting.extend(dict.fromkeys(left))
    return merged


def link_near(graph: Graph, space: Space, ontology: str, concept_ids: Iterable[str]) -> None:
    """Link some concepts with those of their ontology that are near to them in meaning.

    Args:
        graph: where they are.
        space: whose vectors are compared; those without one are passed over.
        ontology: of the concepts.
        concept_ids: those that are new, or were embedded anew.

    Raises:
        DatabaseUnavailable: Neo4j does not answer.
    """
    for ids in portions([*dict.fromkeys(concept_ids)], PORTION):
        _link(graph, space, ontology, ids)


def _link(graph: Graph, space: Space, ontology: str, ids: Sequence[str]) -> list[NearConcepts]:
    """Link some with what is near; that, the nearest pairs first."""
    near = _near(graph, space, ontology, ids)
    of = {each: list[NearConcepts]() for each in ids}
    for pair in near:
        of[pair.ids[0]].append(pair)
    link_concepts(graph, space, of)
    return near


def _near(graph: Graph, space: Space, ontology: str, ids: Sequence[str]) -> list[NearConcepts]:
    """What is near to some, the nearest pairs first; looked up beside each other, for that takes its time."""
    least = min(least_cosine(space.calibration), least_near(space))

    def look(some: Sequence[str]) -> list[NearConcepts]:
        return near_concepts(graph, space, ontology, some, NEIGHBOURS, least=least)

    parts = [*portions(ids, ASKED_AT_ONCE)]
    with ThreadPoolExecutor(len(parts)) as pool:
        found = chain.from_iterable(pool.map(look, parts))
        return sorted(found, key=lambda each: (-each.cosine, each.ids))


def _pairs(near: Iterable[NearConcepts], space: Space) -> Iterator[NearConcepts]:
    """Those that are the same, each pair once."""
    seen = set[frozenset[str]]()
    for each in near:
        both = frozenset(each.ids)
        if both in seen:
            continue
        seen.add(both)
        if _same(each, *each.texts, space) is not None:
            yield each


def _same(pair: NearConcepts, one: Text, other: Text, space: Space) -> Reason | None:
    return same(one, other, likeness(pair.cosine, space.calibration))


def _merge_pair(graph: Graph, pair: NearConcepts, space: Space) -> str | None:
    def still(one: Text, other: Text) -> bool:
        return _same(pair, one, other, space) is not None

    why = Why(_same(pair, *pair.texts, space), round(pair.cosine, 4))
    try:
        kept = merge_concepts(graph, pair.ids, still, why)
    except TooMuchAtOnce as error:  # two of very many sources stay two; the rest goes on
        log.warning("concepts_not_merged", concept_ids=pair.ids, reason=str(error))
        return None
    if kept is not None:
        labels = [text.label for text in pair.texts]
        log.info("concepts_merged", kept=kept, labels=labels, cosine=round(pair.cosine, 3), reason=why.reason)
    return kept
