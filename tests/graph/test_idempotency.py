"""Tests that a request with a key will only be run once (G12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import neo4j
import pytest

from kg_api.errors import InvalidInput, KgError, StorageFull
from kg_api.graph import jobs
from kg_api.graph.cache import MAX_CALLER_LENGTH, MAX_KEY_LENGTH, process_once
from kg_api.graph.client import Graph, Transaction
from kg_api.ingest import service as ingest
from kg_api.schemas.documents import DocumentRecord, GivenBatch
from tests.support.cypher import rows
from tests.support.sync import READER


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


def test_batch_with_a_temporary_failure_runs_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Graph, records: Sequence[DocumentRecord], __: object) -> dict[str, KgError]:
        return {each.document_id: StorageFull("the disk is full") for each in records}

    service = ingest.IngestService(graph, READER, lambda *_: None)
    batch = GivenBatch(documents=[{"ontology": "notes", "document": "a.txt", "text": "A."}])
    with monkeypatch.context() as full:
        full.setattr(ingest, "store_each", fail)
        assert service.ingest_batch(batch, "k").outcomes[0].problem
    assert service.ingest_batch(batch, "k").outcomes[0].ingested


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
