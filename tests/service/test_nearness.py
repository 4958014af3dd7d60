from __future__ import annotations

import time

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.search import REMEMBERED_SECONDS
from tests.service.asking import embedded, search
from tests.support.cypher import rows

TEXT = "A worker renews its lease every ten seconds, and another takes the job when it does not."
FITTING = "how often does a worker renew its lease"
FOREIGN = "the quantum wave function of electrons collapses"


@pytest.fixture
def notes(http: httpx.Client, graph: Graph, driver: neo4j.Driver) -> httpx.Client:
    """Return a note and a calibrated model with the threshold 0.25."""
    embedded(graph, http, TEXT)
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.related = 0.3, e.unrelated = 0.05")
    time.sleep(REMEMBERED_SECONDS + 0.1)  # what a search of the test before read of the model
    return http


@pytest.mark.parametrize("path", ["sources/search", "hybrid"])
def test_search_reports_whether_results_are_relevant(notes: httpx.Client, path: str) -> None:
    for question, near in ((FITTING, True), (FOREIGN, False), ("lease seconds", True)):
        answer = notes.post(f"/queries/{path}", json={"query_text": question}).json()
        assert answer["near"] is near, question
        assert bool(answer["note"]) is not near
        assert answer["sources"] or not near, "what is nearest is shown all the same"
    assert search(notes, FOREIGN)["note"].startswith(f"no close match for '{FOREIGN}'")


def test_keyword_search_leaves_relevance_undecided(notes: httpx.Client) -> None:
    answer = search(notes, "wolf worker", mode="text")
    assert (answer["near"], answer["note"]) == (None, None)
    assert answer["sources"]
