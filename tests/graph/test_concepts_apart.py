"""Which concepts nothing connects: one of very many sources between them does not."""

from __future__ import annotations

from itertools import pairwise

from kg_api.graph.client import Graph
from kg_api.graph.proposals import find_apart
from kg_api.schemas.base import concept_id
from tests.support.concept_graph import Triple, store_concepts
from tests.support.records import record

CHAIN = ("alpha", "hub", "middle", "beta")
ALPHA, BETA, MIDDLE = (concept_id("notes", each) for each in ("alpha", "beta", "middle"))


def store_chain(graph: Graph) -> None:
    """Each related to the next one, in a document of its own; the hub is in two."""
    for subject, target in pairwise(CHAIN):
        stated: dict[int, list[Triple]] = {0: [(subject, "meets", target)]}
        text = f"The {subject} meets the {target}."
        store_concepts(graph, record(f"{subject}.md", [text]), {0: [subject, target]}, stated)


def test_a_concept_of_very_many_sources_connects_no_concepts_wherever_it_stands(graph: Graph) -> None:
    store_chain(graph)
    near, far = (ALPHA, MIDDLE), (ALPHA, BETA)
    for hops, pair in ((2, near), (3, far)):
        for asked in (pair, (pair[1], pair[0])):
            assert find_apart(graph, "concept", [asked], hops=hops, most_sources=50) == set()
            assert find_apart(graph, "concept", [asked], hops=hops, most_sources=1) == {asked}
            assert find_apart(graph, "concept", [asked], hops=hops - 1, most_sources=50) == {asked}
    assert (
        find_apart(graph, "concept", [(ALPHA, concept_id("notes", "hub"))], hops=3, most_sources=0) == set()
    )
