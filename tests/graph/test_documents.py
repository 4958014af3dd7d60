"""Storing documents as differences, reading and deleting them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest

from kg_api.errors import NotFound
from kg_api.graph import document_writes, library
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.spaces import read_configurations
from kg_api.schemas.base import document_id
from tests.support.cypher import rows
from tests.support.records import record, text_record


def count(driver: neo4j.Driver, label: str) -> int:
    return rows(driver, f"MATCH (n:{label}) RETURN count(n) AS n")[0]["n"]


def elements(driver: neo4j.Driver) -> dict[str, str]:
    """The database's own id of each source's node, by text."""
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


def test_a_name_that_stood_for_another_file_is_told(graph: Graph) -> None:
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


def test_deleting_a_document_takes_its_sources_and_the_empty_ontology_stays(
    graph: Graph, driver: neo4j.Driver
) -> None:
    store_document(graph, record("a.md", ["one", "two"]))
    store_document(graph, record("b.md", ["one"]))
    gone = document_writes.delete_document(graph, document_id("notes", "a.md"))
    again = document_writes.delete_document(graph, document_id("notes", "a.md"))
    assert (gone.documents, gone.sources) == (1, 2)
    assert (again.documents, again.sources) == (0, 0)
    assert count(driver, "Source") == 1
    with pytest.raises(NotFound):
        library.find_document(graph, document_id("notes", "a.md"))


def test_deleting_an_ontology_takes_all_of_it_and_nothing_else(
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


def test_a_change_of_blanks_alone_is_kept_to_the_letter(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, text_record("a.md", ["Hello world\n\n", "second\n"]))
    before = elements(driver)
    store_document(graph, text_record("a.md", ["Hello world \n", "second\n"]))
    assert library.find_document(graph, document_id("notes", "a.md")).text == "Hello world \nsecond\n"
    assert elements(driver) == before, "what is behind a paragraph does not make it another"
    store_document(graph, text_record("a.md", ["\n\nHello world \n", "second\n"]))
    assert elements(driver)["Hello world"] != before["Hello world"], "its chunks would be out of place"


def test_deleting_and_writing_one_document_at_once_leaves_no_source_without_it(
    graph: Graph, driver: neo4j.Driver
) -> None:
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


def test_chunks_made_while_their_source_is_deleted_go_with_it(graph: Graph, driver: neo4j.Driver) -> None:
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
