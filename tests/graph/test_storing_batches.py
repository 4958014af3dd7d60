"""Storing many documents in one transaction: as if each had come alone, but for the time it takes."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, LiteralString

import neo4j
import pytest

from kg_api.errors import KgError, TooBusy
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.document_writes import (
    CHARACTERS_A_TRANSACTION,
    SOURCES_A_TRANSACTION,
    split_to_transactions,
    store_document,
    store_documents,
    storing,
)
from kg_api.ingest.service import store_each
from kg_api.schemas.documents import DocumentRecord
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import rows
from tests.support.records import record

STORED = (
    "MATCH (d:Document)-[:IN_ONTOLOGY]->(o:Ontology) "
    "OPTIONAL MATCH (s:Source)-[:PART_OF]->(d) "
    "WITH o, d, s ORDER BY s.paragraph "
    "RETURN o.name AS ontology, d.document AS document, d.title AS title, d.sources AS told, "
    "collect([s.full_text, s.title, s.paragraph, s.heading, s.ontology, s.document]) AS sources "
    "ORDER BY ontology, document"
)
JOBS = "MATCH (j:Job) RETURN j.total AS total, j.wanted AS wanted"


class Undone(Exception):
    """Ends a transaction that is not to be committed."""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The statements that run within transactions, by name."""
    names: Counter[str] = Counter()
    run = Transaction.run

    def note(tx: Transaction, statement: LiteralString, *space: str, **parameters: Any) -> list[Row]:
        names[statement] += 1
        return run(tx, statement, *space, **parameters)

    monkeypatch.setattr(Transaction, "run", note)
    return names


def some(names: Sequence[str], words: str = "text", ontology: str = "notes") -> list[DocumentRecord]:
    return [record(name, [f"{words} of {name}", "shared"], ontology) for name in names]


def test_new_documents_take_few_statements_and_none_that_looks_for_what_was(
    graph: Graph, ran: Counter[str]
) -> None:
    stored = store_documents(graph, some([f"{n}.md" for n in range(50)]))
    assert {each.change.change for each in stored} == {"created"}
    assert ran == dict.fromkeys(
        (
            "documents/lock",
            "ontologies/configuration",
            "sources/create_many",
            "documents/describe",
            "jobs/request",
            "jobs/count_queued",
            "documents/of_same_text",
        ),
        1,
    )


def test_a_batch_is_stored_as_if_each_had_come_alone(graph: Graph, driver: neo4j.Driver) -> None:
    dice = random.Random(7)
    states: dict[str, list[str]] = {
        f"{n}.md": [f"{n} {at}" for at in range(dice.randrange(1, 5))] for n in range(12)
    }
    for _ in range(4):
        batch = [record(name, parts) for name, parts in states.items() if dice.random() < 0.8]
        batch = [replace(each, title=dice.choice(["A", each.title])) for each in batch]
        together = store_documents(graph, batch)
        alone = [store_document(graph, _elsewhere(each)) for each in batch]
        assert [each.change for each in together] == [each.change for each in alone]
        assert [each.unread for each in together] == [each.unread for each in alone]
        assert [each.job_id is None for each in together] == [each.job_id is None for each in alone]
        for name, parts in states.items():
            if dice.random() < 0.6:
                kept = dice.sample(parts, len(parts) - (len(parts) > 1))
                states[name] = [*kept, f"new {name} {dice.random()}"]
    found = rows(driver, STORED)
    here = [{**row, "ontology": ""} for row in found if row["ontology"] == "notes"]
    there = [{**row, "ontology": ""} for row in found if row["ontology"] == "other"]
    assert str(here) == str(there).replace("'other'", "'notes'")
    totals = [row["total"] for row in rows(driver, JOBS)]
    assert totals[0] == totals[1]


def _elsewhere(given: DocumentRecord) -> DocumentRecord:
    """The same in another ontology, where its ids are others."""
    made = record(given.document, [source.full_text.strip() for source in given.sources], "other")
    return replace(made, title=given.title)


def test_what_may_run_twice_knows_each_of_its_documents(graph: Graph, driver: neo4j.Driver) -> None:
    batch = some(["a.md", "b.md", "c.md"])
    store_document(graph, batch[2])
    store = storing(batch)
    first = graph.transaction(store)
    again = graph.transaction(store)
    assert first == again
    assert [each.change.change for each in again] == ["created", "created", "unchanged"]
    assert rows(driver, JOBS) == [{"total": 6, "wanted": 2}]


def test_what_another_wrote_in_between_is_written_again_and_nothing_else(
    graph: Graph, driver: neo4j.Driver
) -> None:
    batch = some(["a.md", "b.md"])
    store = storing(batch)
    graph.transaction(store)
    store_document(graph, record("b.md", ["another"]))
    again = graph.transaction(store)
    assert [each.change.change for each in again] == ["created", "updated"]
    assert rows(driver, JOBS) == [{"total": 4 + 1 + 2, "wanted": 3}]


def test_what_was_rolled_back_is_stored_the_next_time(graph: Graph, driver: neo4j.Driver) -> None:
    store = storing(some(["a.md", "b.md"]))

    def undone(tx: Transaction) -> None:
        store(tx)
        raise Undone

    with pytest.raises(Undone):
        graph.transaction(undone)
    assert rows(driver, "MATCH (d:Document) RETURN d") == []
    assert [each.change.change for each in graph.transaction(store)] == ["created", "created"]
    assert rows(driver, JOBS) == [{"total": 4, "wanted": 1}]


def test_writers_of_the_same_documents_take_turns_in_whatever_order(
    graph: Graph, driver: neo4j.Driver
) -> None:
    names = [f"{n}.md" for n in range(20)]

    def write(number: int) -> None:
        shuffled = random.Random(number).sample(names, len(names))
        store_documents(graph, some(shuffled, f"text {number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    found = rows(driver, STORED)
    assert [len(row["sources"]) for row in found] == [2] * 20


@pytest.mark.parametrize("there", [0, 60])
def test_a_writer_of_an_ontology_waits_for_no_other_until_the_end(
    graph: Graph, driver: neo4j.Driver, there: int
) -> None:
    """Nodes of many relationships are locked otherwise than those of few."""
    store_document(graph, record("first.md", ["one"]))
    if there:
        store_documents(graph, some([f"{n}.md" for n in range(there)]))
    written, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        tx.run("documents/lock", ontology="notes", documents=[{"document_id": "slow", "document": "slow"}])
        written.set()
        assert go_on.wait(20)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(graph.transaction, slow)
        assert written.wait(20)
        assert store_document(graph, record("quick.md", ["two"])).change.change == "created"
        assert not waiting.done()
        go_on.set()
        waiting.result()
    rows(driver, "MATCH (d:Document {document_id: 'slow'}) DELETE d")


def test_writers_of_one_ontology_do_not_stop_each_other(
    graph: Graph, driver: neo4j.Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """As they did when new documents came into it by CREATE: each deadlock is a second of waiting."""
    store_document(graph, record("first.md", ["one"]))

    def write(number: int) -> None:
        store_documents(graph, some([f"{number}-{at}.md" for at in range(3)]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(48)))
    assert "Deadlock" not in caplog.text
    assert rows(driver, "MATCH (d:Document)-[r:IN_ONTOLOGY]->() RETURN count(r) AS n") == [{"n": 145}]


def test_batches_are_bounded_by_sources_and_by_characters() -> None:
    few = record("few", ["text"])
    assert [len(part) for part in split_to_transactions([few] * (SOURCES_A_TRANSACTION + 1))] == [
        SOURCES_A_TRANSACTION,
        1,
    ]
    large = replace(few, characters=CHARACTERS_A_TRANSACTION + 1)
    assert [len(part) for part in split_to_transactions([few, few, large, few])] == [2, 1, 1]
    assert list(split_to_transactions([])) == []


def test_one_that_cannot_be_stored_is_refused_alone(graph: Graph, driver: neo4j.Driver) -> None:
    """Whatever is wrong with it: here its metadata are no value that Neo4j can hold."""
    batch = some([f"{n}.md" for n in range(20)])
    wrong: Any = {"a": {"map": 1}}
    batch[13] = replace(batch[13], metadata=wrong)
    outcomes = store_each(graph, batch, None)
    refused = [identity for identity, each in outcomes.items() if isinstance(each, KgError)]
    assert refused == [batch[13].document_id]
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 19}]


@pytest.mark.usefixtures("graph")
def test_what_too_many_jobs_keep_out_is_told_of_what_was_not_stored(
    server: Neo4jServer, driver: neo4j.Driver
) -> None:
    with Graph(server.uri, server.user, server.password, most_queued=1) as few:
        outcomes = store_each(few, [*some(["a", "b"]), *some(["c"], ontology="other")], None)
        assert [isinstance(each, TooBusy) for each in outcomes.values()] == [False, False, True]
        with pytest.raises(TooBusy):
            store_each(few, some(["c"], ontology="other"), None)
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 2}]
