"""Which of the concepts found may be taken for what was said. A search only ranks; this is the floor."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kg_api.graph.database import Graph
from kg_api.graph.fulltext.queries import CONCEPT_FIELDS, lucene_queries
from kg_api.graph.fulltext.variants import Variant
from kg_api.graph.search.concepts import Meaning, concepts_by_text
from kg_api.graph.spaces.registry import Space
from kg_api.models.concepts.queries import ConceptHit
from kg_api.models.embedding.spaces import USUAL

NAME_FIELDS = {name: CONCEPT_FIELDS[name] for name in ("label", "search_terms")}
"""What a concept is called; a word of its description says little of it."""
SHARE = 0.5
"""A concept is near from so far on the way from unrelated concepts to the very one (adr/0029)."""
UNMEASURED_SHARE = 0.5
"""The same from unrelated texts to equal ones, where there are too few concepts to be measured."""
MIN_GAP = 0.04
"""A model that holds concepts apart by less does not tell them apart."""
DEPTH = 200
"""So many of those with a word in their names are looked through."""


def with_fits(
    graph: Graph,
    hits: Sequence[ConceptHit],
    called: Collection[str],
    words: Sequence[str],
    meanings: Sequence[Meaning],
    *,
    variants: Sequence[Variant] = (),
) -> list[ConceptHit]:
    """The same hits, each with what makes it fit.

    Args:
        graph: where they are.
        hits: what was found.
        called: ids of those that go by the very name.
        words: those of the question; none: full text is not asked.
        meanings: the question's vectors, whose spaces say which similarity is near.
        variants: other ways to write the question's numbers and letters.
    """
    floors = {name: min_similarity_of(each.space) for each in meanings for name in each.ontologies}
    near = {
        hit.concept_id
        for hit in hits
        if hit.similarity is not None and hit.ontology in floors and hit.similarity >= floors[hit.ontology]
    }
    unsure = {hit.ontology for hit in hits if hit.concept_id not in {*called, *near}}
    queries = lucene_queries(words, sorted(unsure), fields=NAME_FIELDS, variants=variants) if unsure else []
    worded = {each.concept.concept_id for each in concepts_by_text(graph, queries, (), DEPTH)}
    return [_annotate(hit, called, worded, near) for hit in hits]


def min_similarity_of(space: Space) -> float:
    """From which cosine on a concept of a space may be taken for what was asked."""
    if space.labels is not None and space.labels.gap >= MIN_GAP:
        return space.labels.toward_related(SHARE)
    return (space.calibration or USUAL).toward_equal(UNMEASURED_SHARE)


def _annotate(
    hit: ConceptHit, called: Collection[str], worded: Collection[str], near: Collection[str]
) -> ConceptHit:
    if hit.concept_id in called:
        return hit.model_copy(update={"fits": "name"})
    if hit.concept_id in worded:
        return hit.model_copy(update={"fits": "words"})
    return hit.model_copy(update={"fits": "meaning"}) if hit.concept_id in near else hit
