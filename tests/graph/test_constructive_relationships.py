from typing import Any

import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.graph.client import Graph
from tests.graph.conftest import add_texts, sharing
from tests.support.concept_graph import store_concepts
from tests.support.constructive import ask, seed, triples
from tests.support.records import record

ASKED = seed("engine drives wheel", "relationship")
EATS = ("heron", "eats", "frog")


def add_nature(graph: Graph) -> None:
    texts = [f"engine{number} drives wheel{number}." for number in range(120)]
    drives = {at: [(f"engine{at}", "drives", f"wheel{at}")] for at in range(120)}
    store_concepts(
        graph, record("big.md", texts), {at: [f"engine{at}", f"wheel{at}"] for at in range(120)}, drives
    )
    small = record("small.md", ["A heron eats a frog.", "Ducks.", "A frog eats flies."])
    stated = {0: [EATS], 2: [("frog", "eats", "flies")]}
    store_concepts(graph, small, {0: ["heron", "frog"], 2: ["frog", "flies"]}, stated)


kg = sharing(add_texts, add_nature)


@pytest.mark.parametrize("named", [{"documents": ["small.md"]}, {"where": ["document=small.md"]}])
def test_document_filter_finds_relationships_behind_nearer_ones(
    constructive: ConstructiveService, named: dict[str, Any]
) -> None:
    assert len(ask(constructive, ASKED).edges) == 10
    found = ask(constructive, ASKED, **named)
    assert triples(found) == {EATS, ("frog", "eats", "flies")}
    assert found.degraded == []
    assert {quote.document for edge in found.edges for quote in edge.quotes} == {"small.md"}
