"""Which of the concepts found may be taken for what was said. A search only ranks; this is the floor."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kg_api.graph.concept_lanes import Meaning, concepts_by_text
from kg_api.graph.database import Graph
from kg_api.graph.fulltext import CONCEPT_FIELDS, lucene_queries
from kg_api.models.concepts import ConceptHit
from kg_api.models.spaces import USUAL

NAME_FIELDS = {name: CONCEPT_FIELDS[name] for name in ("label", "search_terms")}
"""What a concept is called; a word of its description says little of it."""
DEPTH = 200
"""So many of those with a word in their names are looked through."""


def with_fits(
    graph: Graph,
    hits: Sequence[ConceptHit],
    called: Collection[str],
    words: Sequence[str],
    meanings: Sequence[Meaning],
) -> list[ConceptHit]:
    """The same hits, each with what makes it fit.

    Args:
        graph: where they are.
        hits: what was found.
        called: ids of those that go by the very name.
        words: those of the question; none: full text is not asked.
        meanings: the question's vectors, whose spaces say which similarity is near.
    """
    middles = {name: (each.space.contrast or USUAL).middle for each in meanings for name in each.ontologies}
    near = {
        hit.concept_id
        for hit in hits
        if hit.similarity is not None and hit.ontology in middles and hit.similarity >= middles[hit.ontology]
    }
    unsure = {hit.ontology for hit in hits if hit.concept_id not in {*called, *near}}
    queries = lucene_queries(words, sorted(unsure), fields=NAME_FIELDS) if unsure else []
    worded = {each.concept.concept_id for each in concepts_by_text(graph, queries, (), DEPTH)}
    return [_told(hit, called, worded, near) for hit in hits]


def _told(
    hit: ConceptHit, called: Collection[str], worded: Collection[str], near: Collection[str]
) -> ConceptHit:
    if hit.concept_id in called:
        return hit.model_copy(update={"fits": "name"})
    if hit.concept_id in worded:
        return hit.model_copy(update={"fits": "words"})
    return hit.model_copy(update={"fits": "meaning"}) if hit.concept_id in near else hit
