from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.service.asking import problem
from tests.service.conftest import sharing
from tests.support.embedding import run_jobs
from tests.support.records import record

APPLES = "red apples grow on the old tree behind the house and fall in the autumn wind"
PLUMS = "blue plums are kept in a jar of glass on the highest shelf of the cellar"
GRAPH = "/queries/sources/graph"


def store_fruit(graph: Graph, url: str) -> str:
    stored = record("one", [APPLES, PLUMS, "a third", "a fourth"])
    for each in (stored, record("two", [APPLES + " gently"]), record("three", [PLUMS, APPLES], "other")):
        store_document(graph, each)
    run_jobs(graph)
    source = stored.sources[0].source_id
    # The service caches the ontologies for a second, and reads them again for a name that it does not know.
    httpx.post(url + like(source), json={"ontology": "other"}).raise_for_status()
    return source


shared = sharing(store_fruit)


@pytest.fixture
def first(shared: str) -> str:
    """The id of the first source of three documents in two ontologies."""
    return shared


def like(source: str) -> str:
    return f"/queries/sources/{source}/similar"


def test_too_many_documents_for_a_graph_are_rejected(http: httpx.Client, graph: Graph) -> None:
    for number in range(6):
        store_document(graph, record("d", ["text"], f"o{number}"))
    names = [f"d{number}" for number in range(1000)]
    assert "more than 5,000" in problem(http.post(GRAPH, json={"documents": names}), 422)


def test_reading_around_a_source_within_a_budget(http: httpx.Client, kg: KgClient, first: str) -> None:
    path = f"/sources/{first}/context"
    whole = http.get(path, params={"window_size": 3}).json()
    assert (len(whole["sources"]), whole["left_out"], whole["tokens"]) == (4, 0, None)
    some = http.get(path, params={"window_size": 3, "token_budget": 32}).json()
    assert (len(some["sources"]), some["left_out"], some["token_budget"]) == (2, 2, 32)
    assert some["tokens"] <= 32
    assert some["degraded"] == []
    none = kg.source_context(first, token_budget=1)
    assert (none.sources, none.left_out) == ([], 3)
    assert "no result fits into 1" in none.degraded[0].effect
    for wrong in (0, 1_000_001, "many"):
        assert "token_budget" in problem(http.get(path, params={"token_budget": wrong}), 422)
