"""Finding concepts: by meaning, by words and by name, joined by reciprocal rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from kg_api.concepts.asking import none_yet
from kg_api.concepts.fitting import with_fits
from kg_api.concepts.ranks import reciprocal_rank_fusion
from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.fulltext.queries import CONCEPT_FIELDS, MAX_TERMS, lucene_queries, terms
from kg_api.graph.fulltext.variants import find_variants
from kg_api.graph.search.concepts import (
    WORDS_INDEX,
    ConceptLaneHit,
    Meaning,
    best_of,
    by_name,
    by_text,
    by_vector,
    look_up_concepts,
)
from kg_api.models.concepts.queries import ConceptHit
from kg_api.models.identity import concept_name, name_id
from kg_api.models.queries.search import Degradation

LANE_DEPTH = 50
"""How many of each lane are joined, at least."""
NOTHING_WAITS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class FoundConcepts:
    """What was found, the best first, and what could not be done."""

    concepts: list[ConceptHit]
    degraded: list[Degradation] = field(default_factory=list[Degradation])


def find_concepts(
    graph: Graph,
    query_text: str,
    meanings: Sequence[Meaning],
    ontologies: Sequence[str],
    limit: int,
    *,
    populating: Mapping[str, str] = NOTHING_WAITS,
) -> FoundConcepts:
    """Find the concepts that fit a question best.

    Args:
        graph: where they are.
        query_text: the question; empty: only its vectors are asked.
        meanings: its vector in each space that is searched; a space without one is searched by words.
        ontologies: where to look; those that are not there find nothing.
        limit: most concepts.
        populating: indexes that are not online, with their state; they are not asked.

    Raises:
        Unavailable: no index that could answer is online.
    """
    depth = max(LANE_DEPTH, 2 * limit)
    usable = [each for each in meanings if each.space.concept_index_name not in populating]
    words = terms(query_text)
    if WORDS_INDEX in populating and not usable:
        raise Unavailable("the indexes of concepts are still being filled; try again in a moment")
    asked = () if WORDS_INDEX in populating else words
    variants = find_variants(query_text)
    queries = lucene_queries(asked, ontologies, fields=CONCEPT_FIELDS, variants=variants)
    names = [name_id(ontology, query_text) for ontology in ontologies] if query_text.strip() else []
    *lanes, named = _ask(graph, usable, queries, names, depth)
    lanes.append([*named, *_also_called(query_text, chain(*lanes), named)])
    called = {each.concept.concept_id for each in lanes[-1]}
    hits = with_fits(graph, _fuse(lanes, usable)[:limit], called, asked, usable, variants=variants)
    told = list(_describe_degradation(meanings, words, lanes, hits, populating))
    return FoundConcepts(hits, told if hits else [*told, *none_yet(graph, ontologies)])


def _ask(
    graph: Graph, meanings: Sequence[Meaning], queries: Sequence[str], names: Sequence[str], depth: int
) -> list[list[ConceptLaneHit]]:
    """What meaning finds in each space, what words find, and last what goes by one of the names."""
    lookups = [
        *(by_vector(each, depth) for each in meanings),
        *(by_text(each, meanings, depth) for each in queries),
        by_name(names, meanings, depth),
    ]
    *found, named = look_up_concepts(graph, lookups)
    return [*found[: len(meanings)], best_of(found[len(meanings) :], depth), named]


def _also_called(
    query_text: str, found: Iterable[ConceptLaneHit], named: Iterable[ConceptLaneHit]
) -> Iterator[ConceptLaneHit]:
    """Those of what was found that have the question among their search terms, each once."""
    name = concept_name(query_text)
    seen = {each.concept.concept_id for each in named}
    for each in found:
        if each.concept.concept_id not in seen and name in map(concept_name, each.concept.search_terms):
            seen.add(each.concept.concept_id)
            yield each


def _fuse(lanes: Sequence[Sequence[ConceptLaneHit]], meanings: Sequence[Meaning]) -> list[ConceptHit]:
    """Each concept once, by the sum of its reciprocal ranks; equal ones by similarity, sources and id."""
    spaces = {name: each.space.slug for each in meanings for name in each.ontologies}
    scores = reciprocal_rank_fusion([each.concept.concept_id for each in lane] for lane in lanes)
    first: dict[str, ConceptLaneHit] = {}
    for found in chain(*lanes):
        first.setdefault(found.concept.concept_id, found)
    hits = [
        ConceptHit(
            **found.concept.model_dump(),
            similarity=found.similarity,
            space=None if found.similarity is None else spaces.get(found.concept.ontology),
            score=scores[identity],
        )
        for identity, found in first.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -(hit.similarity or -1), -hit.sources, hit.concept_id))


def _describe_degradation(
    meanings: Sequence[Meaning],
    words: Sequence[str],
    lanes: Sequence[Sequence[ConceptLaneHit]],
    hits: Sequence[ConceptHit],
    populating: Mapping[str, str],
) -> Iterator[Degradation]:
    for name in (each.space.concept_index_name for each in meanings):
        if name in populating:
            effect = f"the vector index {name} is {populating[name]}: concepts were searched by words only"
            yield Degradation(part="vector_index", effect=effect)
    if WORDS_INDEX in populating:
        effect = f"the full-text index of concepts is {populating[WORDS_INDEX]}: they were searched by vector"
        yield Degradation(part="text_index", effect=effect)
    elif not words:
        yield Degradation(part="query", effect="there is no word in the query to look for in concepts")
    elif len(words) > MAX_TERMS:
        left_out = len(words) - MAX_TERMS
        effect = f"concepts: the first {MAX_TERMS} words were used, {left_out} were left out"
        yield Degradation(part="query", effect=effect)
    without = {found.concept.concept_id for lane in lanes for found in lane if found.without_vector}
    missing = sum(hit.similarity is None and hit.concept_id in without for hit in hits)
    if missing:
        have = "has" if missing == 1 else "have"
        effect = f"{missing} of the concepts found {have} no vector yet: found by words only"
        yield Degradation(part="vectors", effect=effect)
