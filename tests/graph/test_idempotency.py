"""Tests that a request with a key will only be run once (G12)."""

from __future__ import annotations

from typing import Any

import neo4j
import pytest

from kg_api.errors import InvalidInput
from kg_api.graph import jobs
from kg_api.graph.cache import MAX_CALLER_LENGTH, MAX_KEY_LENGTH, process_once
from kg_api.graph.client import Graph, Transaction
from tests.support.cypher import rows


def ask(
    graph: Graph, key: str = "k", body: str = "h", ontology: str = "notes"
) -> tuple[dict[str, Any], bool]:
    def work(tx: Transaction) -> tuple[dict[str, Any], bool]:
        return process_once(
            tx, key, body, lambda: {"job_id": jobs.request_job(tx, "test", ontology, added=1)}
        )

    return graph.transaction(work)


def test_a_request_that_fails_keeps_nothing(graph: Graph) -> None:
    def fail(tx: Transaction) -> object:
        return process_once(tx, "k", "h", lambda: {}["missing"])

    with pytest.raises(KeyError):
        graph.transaction(fail)
    assert ask(graph, body="other")[1]


def test_an_answer_is_kept_for_a_day(graph: Graph, driver: neo4j.Driver) -> None:
    def age(hours: int) -> None:
        rows(driver, "MATCH (a:KeptAnswer) SET a.kept_at = a.kept_at - duration({hours: $h})", h=hours)

    ask(graph)
    age(23)
    jobs.prune(graph, days=7)
    assert not ask(graph)[1]
    age(2)
    assert ask(graph, body="other")[1], "what is too old is as if it had never been"
    assert not ask(graph, body="other")[1]
    age(25)
    jobs.prune(graph, days=7)
    assert rows(driver, "MATCH (a:KeptAnswer) RETURN a.key") == []


@pytest.mark.parametrize("key", ["", "k" * (MAX_KEY_LENGTH + MAX_CALLER_LENGTH + 1)])
def test_a_key_has_a_length(graph: Graph, key: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 255"):
        ask(graph, key)
