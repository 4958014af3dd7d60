from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString

import neo4j
import pytest

from kg_api.errors import KgError, NotFound, TooBusy
from kg_api.graph import document_writes, library
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.document_writes import (
    MAX_CHARACTERS_PER_TRANSACTION,
    MAX_SOURCES_PER_TRANSACTION,
    StoreResult,
    split_to_transactions,
    store_document,
    store_documents,
    storing,
)
from kg_api.graph.spaces import read_configurations
from kg_api.ingest.service import store_each
from kg_api.schemas.base import document_id
from kg_api.schemas.documents import DocumentRecord
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import STATEMENTS, rows
from tests.support.records import record, text_record
from tests.support.sync import counts, documents, follow, put, scan, work


def count(driver: neo4j.Driver, label: str) -> int:
    return rows(driver, f"MATCH (n:{label}) RETURN count(n) AS n")[0]["n"]


def elements(driver: neo4j.Driver) -> dict[str, str]:
    found = rows(driver, "MATCH (s:Source) RETURN s.full_text AS text, elementId(s) AS id")
    return {row["text"].strip(): row["id"] for row in found}


def test_the_same_document_again_changes_nothing(graph: Graph, driver: neo4j.Driver) -> None:
    first = store_document(graph, record("a.md", ["one", "two"]))
    again = store_document(graph, record("a.md", ["one", "two"]))
    assert (first.change.change, first.change.added) == ("created", 2)
    assert (again.change.change, again.change.added, again.job_id) == ("unchanged", 0, None)
    assert count(driver, "Source") == 2


def test_unchanged_paragraphs_keep_their_node_wherever_they_move(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["one", "two", "three"]))
    before = elements(driver)
    change = store_document(graph, record("a.md", ["zero", "three", "one"])).change
    after = elements(driver)
    assert (change.change, change.added, change.kept, change.removed) == ("updated", 1, 2, 1)
    assert {text: after[text] for text in ("one", "three")} == {
        text: before[text] for text in ("one", "three")
    }
    assert library.find_document(graph, document_id("notes", "a.md")).text == "zero\n\nthree\n\none\n\n"


def test_equal_paragraphs_are_sources_of_their_own(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["same", "same", "other"]))
    store_document(graph, record("b.md", ["same"]))
    assert count(driver, "Source") == 4


def test_sources_and_job_are_stored_together(graph: Graph, driver: neo4j.Driver) -> None:
    stored = store_document(graph, record("a.md", ["one", "two"]))
    more = store_document(graph, record("b.md", ["three"]))
    assert stored.job_id == more.job_id
    with driver.session() as session:
        job = session.run("MATCH (j:Job) RETURN j.total AS total, j.wanted AS wanted").single(strict=True)
    assert (job["total"], job["wanted"]) == (3, 2)


def test_replaced_document_of_another_file_is_reported(graph: Graph) -> None:
    store_document(graph, record("a.md", ["one"], uri="file:///x/a.md"))
    change = store_document(graph, record("a.md", ["two"], uri="file:///y/a.md")).change
    assert change.replaced_uri == "file:///x/a.md"


def test_writers_of_one_document_take_turns(graph: Graph, driver: neo4j.Driver) -> None:
    records = [record("a.md", ["shared", f"own {n}"]) for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        changes = [stored.change for stored in pool.map(lambda each: store_document(graph, each), records)]
    assert sum(change.change == "created" for change in changes) == 1
    assert count(driver, "Document") == 1
    assert count(driver, "Source") == 2
    text = library.find_document(graph, document_id("notes", "a.md")).text
    assert text in {f"shared\n\nown {n}\n\n" for n in range(16)}


def test_creators_of_one_ontology_make_one(graph: Graph, driver: neo4j.Driver) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store_document(graph, record(f"{n}.md", [f"text {n}"])), range(24)))
    assert count(driver, "Ontology") == 1
    assert count(driver, "Document") == 24


def test_deleted_document_removes_sources_and_keeps_ontology(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["one", "two"]))
    store_document(graph, record("b.md", ["one"]))
    gone = document_writes.delete_document(graph, document_id("notes", "a.md"))
    again = document_writes.delete_document(graph, document_id("notes", "a.md"))
    assert (gone.documents, gone.sources) == (1, 2)
    assert (again.documents, again.sources) == (0, 0)
    assert count(driver, "Source") == 1
    with pytest.raises(NotFound):
        library.find_document(graph, document_id("notes", "a.md"))


def test_deleted_ontology_removes_only_its_data(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_writes, "DOCUMENTS_A_PORTION", 4)
    for number in range(9):
        store_document(graph, record(f"{number}.md", ["one", "two"]))
    store_document(graph, record("kept.md", ["one"], ontology="other"))
    gone = document_writes.delete_ontology(graph, "notes")
    again = document_writes.delete_ontology(graph, "notes")
    assert (gone.documents, gone.sources) == (9, 18)
    assert (again.documents, again.sources) == (0, 0)
    assert list(read_configurations(graph)) == ["other"]
    assert count(driver, "Source") == 1


def test_neighbours_are_of_the_same_document_in_order(graph: Graph) -> None:
    store_document(graph, record("a.md", [f"a{n}" for n in range(6)]))
    store_document(graph, record("b.md", [f"b{n}" for n in range(6)]))
    middle = record("a.md", [f"a{n}" for n in range(6)]).sources[4]
    place = library.find_source(graph, middle.source_id)
    around = library.neighbours(graph, [place], 2)[place.source_id]
    assert [each.full_text.strip() for each in around] == ["a2", "a3", "a4", "a5"]


def test_documents_are_listed_by_page(graph: Graph) -> None:
    for name in ("c.md", "a.md", "b.md"):
        store_document(graph, record(name, ["text"]))
    listed = library.list_documents(graph, ontology="notes", offset=1, limit=1)
    page, total = listed.documents, listed.total
    assert total == 3
    assert [document.document for document in page] == ["b.md"]


def test_whitespace_change_is_stored_exactly(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, text_record("a.md", ["Hello world\n\n", "second\n"]))
    before = elements(driver)
    store_document(graph, text_record("a.md", ["Hello world \n", "second\n"]))
    assert library.find_document(graph, document_id("notes", "a.md")).text == "Hello world \nsecond\n"
    assert elements(driver) == before, "what is behind a paragraph does not make it another"
    store_document(graph, text_record("a.md", ["\n\nHello world \n", "second\n"]))
    assert elements(driver)["Hello world"] != before["Hello world"], "its chunks would be out of place"


def test_concurrent_delete_and_write_leave_no_orphans(graph: Graph, driver: neo4j.Driver) -> None:
    def write(number: int) -> None:
        store_document(graph, record("a.md", [f"text {number} {n}" for n in range(20)]))

    def delete(number: int) -> None:
        del number
        document_writes.delete_document(graph, document_id("notes", "a.md"))

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(act, number) for number in range(20) for act in (write, delete)]
        for each in done:
            each.result()
    orphans = "MATCH (s:Source) WHERE NOT (s)-[:PART_OF]->(:Document) RETURN s"
    assert rows(driver, orphans) == []


def test_chunks_written_during_a_deletion_are_deleted(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["one two three"]))
    source = record("a.md", ["one two three"]).sources[0].source_id
    chunk = (
        "MATCH (s:Source {source_id: $id}) SET s.embedded_with = 'x' "
        "CREATE (:Chunk {chunk_id: 'c', space: 'default', sources: 1})-[:CHUNK_OF]->(s)"
    )
    with driver.session() as session, ThreadPoolExecutor(1) as pool:
        embedding = session.begin_transaction()
        embedding.run(chunk, id=source).consume()
        going = pool.submit(document_writes.delete_document, graph, document_id("notes", "a.md"))
        time.sleep(0.5)
        assert not going.done(), "it waits for the batch"
        embedding.commit()
        assert going.result().sources == 1
    assert count(driver, "Chunk") == 0


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
    """Error to raise if a transaction should not be committed."""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    names: Counter[str] = Counter()
    run = Transaction.run

    def note(tx: Transaction, statement: LiteralString, *space: str, **parameters: Any) -> list[Row]:
        names[statement] += 1
        return run(tx, statement, *space, **parameters)

    monkeypatch.setattr(Transaction, "run", note)
    return names


def some(names: Sequence[str], words: str = "text", ontology: str = "notes") -> list[DocumentRecord]:
    return [record(name, [f"{words} of {name}", "shared"], ontology) for name in names]


def test_new_documents_need_few_statements(graph: Graph, ran: Counter[str]) -> None:
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


def test_batch_and_single_documents_have_equal_results(graph: Graph, driver: neo4j.Driver) -> None:
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
    made = record(given.document, [source.full_text.strip() for source in given.sources], "other")
    return replace(made, title=given.title)


def test_retried_batch_transaction_knows_each_document(graph: Graph, driver: neo4j.Driver) -> None:
    batch = some(["a.md", "b.md", "c.md"])
    store_document(graph, batch[2])
    store = storing(batch)
    first = graph.transaction(store)
    again = graph.transaction(store)
    assert first == again
    assert [each.change.change for each in again] == ["created", "created", "unchanged"]
    assert rows(driver, JOBS) == [{"total": 6, "wanted": 2}]


def test_concurrent_change_repeats_only_the_affected_document(graph: Graph, driver: neo4j.Driver) -> None:
    batch = some(["a.md", "b.md"])
    store = storing(batch)
    graph.transaction(store)
    store_document(graph, record("b.md", ["another"]))
    again = graph.transaction(store)
    assert [each.change.change for each in again] == ["created", "updated"]
    assert rows(driver, JOBS) == [{"total": 4 + 1 + 2, "wanted": 3}]


def test_rolled_back_batch_can_be_stored_again(graph: Graph, driver: neo4j.Driver) -> None:
    store = storing(some(["a.md", "b.md"]))

    def undone(tx: Transaction) -> None:
        store(tx)
        raise Undone

    with pytest.raises(Undone):
        graph.transaction(undone)
    assert rows(driver, "MATCH (d:Document) RETURN d") == []
    assert [each.change.change for each in graph.transaction(store)] == ["created", "created"]
    assert rows(driver, JOBS) == [{"total": 4, "wanted": 1}]


def test_writers_in_different_orders_do_not_deadlock(graph: Graph, driver: neo4j.Driver) -> None:
    names = [f"{n}.md" for n in range(20)]

    def write(number: int) -> None:
        shuffled = random.Random(number).sample(names, len(names))
        store_documents(graph, some(shuffled, f"text {number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    found = rows(driver, STORED)
    assert [len(row["sources"]) for row in found] == [2] * 20


@pytest.mark.parametrize("there", [0, 60])
def test_slow_writer_does_not_block_its_ontology(graph: Graph, driver: neo4j.Driver, there: int) -> None:
    """Neo4j uses other locks for a node if it has many relationships."""
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


def test_concurrent_writers_of_an_ontology_all_succeed(
    graph: Graph, driver: neo4j.Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """When documents were added using CREATE, there could be deadlocks, and each of them takes a
    second."""
    store_document(graph, record("first.md", ["one"]))

    def write(number: int) -> None:
        store_documents(graph, some([f"{number}-{at}.md" for at in range(3)]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(48)))
    assert "Deadlock" not in caplog.text
    assert rows(driver, "MATCH (d:Document)-[r:IN_ONTOLOGY]->() RETURN count(r) AS n") == [{"n": 145}]


def test_batches_are_bounded_by_sources_and_by_characters() -> None:
    few = record("few", ["text"])
    assert [len(part) for part in split_to_transactions([few] * (MAX_SOURCES_PER_TRANSACTION + 1))] == [
        MAX_SOURCES_PER_TRANSACTION,
        1,
    ]
    large = replace(few, characters=MAX_CHARACTERS_PER_TRANSACTION + 1)
    assert [len(part) for part in split_to_transactions([few, few, large, few])] == [2, 1, 1]
    assert list(split_to_transactions([])) == []


def test_unstorable_document_fails_without_the_batch(graph: Graph, driver: neo4j.Driver) -> None:
    """The metadata contains a value that cannot be stored in Neo4j."""
    batch = some([f"{n}.md" for n in range(20)])
    wrong: Any = {"a": {"map": 1}}
    batch[13] = replace(batch[13], metadata=wrong)
    outcomes = store_each(graph, batch, None)
    refused = [identity for identity, each in outcomes.items() if isinstance(each, KgError)]
    assert refused == [batch[13].document_id]
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 19}]


@pytest.mark.usefixtures("graph")
def test_full_queue_reports_documents_not_stored(server: Neo4jServer, driver: neo4j.Driver) -> None:
    with Graph(server.uri, server.user, server.password, most_queued=1) as few:
        outcomes = store_each(few, [*some(["a", "b"]), *some(["c"], ontology="other")], None)
        assert [isinstance(each, TooBusy) for each in outcomes.values()] == [False, False, True]
        with pytest.raises(TooBusy):
            store_each(few, some(["c"], ontology="other"), None)
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 2}]


NAMES = "MATCH (d:Document) RETURN d.document AS name ORDER BY name"


def told(stored: StoreResult) -> tuple[str, tuple[str, ...]]:
    return stored.change.change, stored.change.same_text


def names(driver: neo4j.Driver) -> list[str]:
    return [row["name"] for row in rows(driver, NAMES)]


def test_duplicate_name_is_reported_within_its_ontology_only(graph: Graph) -> None:
    assert told(store_document(graph, record("a", ["the text"]))) == ("created", ())
    assert told(store_document(graph, record("a", ["the text"], "other"))) == ("created", ())
    assert told(store_document(graph, record("b", ["the text"]))) == ("created", ("a",))
    assert told(store_document(graph, record("b", ["the text"]))) == ("unchanged", ())
    assert told(store_document(graph, record("b", ["other"]))) == ("updated", ())
    assert told(store_document(graph, record("c", ["the text", "and more"]))) == ("created", ())


def test_duplicates_in_a_batch_refer_to_earlier_documents(graph: Graph) -> None:
    store_document(graph, record("a", ["old"]))
    batch = [record("a", ["new"]), record("b", ["old"]), record("c", ["new"]), record("d", ["new"])]
    assert [told(each) for each in store_documents(graph, batch)] == [
        ("updated", ()),
        ("created", ()),
        ("created", ("a",)),
        ("created", ("a",)),
    ]


def test_one_of_many_concurrent_duplicates_is_stored(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("first", ["something else"]))
    together = threading.Barrier(6)

    def store(number: int) -> StoreResult:
        together.wait()
        return store_document(graph, record(f"{number}", ["the text"]))

    with ThreadPoolExecutor(6) as pool:
        found = [told(each) for each in pool.map(store, range(6))]
    assert [same for _, same in found].count(()) == 1
    assert names(driver) == [*map(str, range(6)), "first"]


def test_folder_distinguishes_a_renamed_file_from_a_copy(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    put(folder, one="First.\n", two="Second.\n")
    followed = follow(graph, folder)
    work(graph)
    (folder / "one.md").rename(folder / "renamed.md")
    put(folder, copy="Second.\n")
    after = scan(graph, followed)
    assert counts(after) == {"added": 2, "removed": 1, "unchanged": 1}
    assert after.last_scan is not None
    assert (after.last_scan.moved, after.last_scan.duplicates) == (1, 1)
    [found] = after.last_scan.duplicate_files
    assert (found.document, found.duplicate_of) == ("copy.md", "two.md")
    assert documents(graph).keys() == {"renamed.md", "two.md", "copy.md"}
    again = scan(graph, followed).last_scan
    assert again is not None
    assert (again.moved, again.duplicates) == (0, 0)


def test_first_batch_finds_duplicates_by_index(graph: Graph, driver: neo4j.Driver) -> None:
    """Before this change, the whole ontology was read for each text. This took 40 s for 3,200
    documents."""
    records = [record(f"{at}.md", [f"text {at}"]) for at in range(100)]
    graph.transaction(storing(records))
    asked = {
        "ontology": "notes",
        "texts": [each.text_hash for each in records],
        "ours": [each.document_id for each in records],
        "limit": 3,
    }
    statement = STATEMENTS["documents/of_same_text"].partition("\n")[2]
    with driver.session() as session:
        told = session.run("CYPHER replan=force PROFILE " + statement, asked).consume()  # pyright: ignore[reportArgumentType]
    plan = str(told.profile["args"]["string-representation"] if told.profile else "")
    assert "document_by_text" in plan
    assert "document_by_name" not in plan
