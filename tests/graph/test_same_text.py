"""The same text under two names is noticed, and left out where that is wanted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import (
    StoreResult,
    delete_document,
    preview_document,
    store_document,
    store_documents,
    storing,
)
from kg_api.schemas.documents import DocumentRecord, StoredChange
from tests.support.cypher import STATEMENTS, rows
from tests.support.records import record
from tests.support.sync import counts, documents, follow, put, scan, work

NAMES = "MATCH (d:Document) RETURN d.document AS name ORDER BY name"


HASHES = "MATCH (d:Document) RETURN d.document AS name, d.text_hash AS hash ORDER BY name"


def skipping(name: str, text: str = "the text") -> DocumentRecord:
    return replace(record(name, [text]), skip_duplicate=True)


def told(stored: StoreResult) -> tuple[str, tuple[str, ...]]:
    return stored.change.change, stored.change.same_text


def names(driver: neo4j.Driver) -> list[str]:
    return [row["name"] for row in rows(driver, NAMES)]


def test_another_name_is_told_and_another_ontology_is_none(graph: Graph) -> None:
    assert told(store_document(graph, record("a", ["the text"]))) == ("created", ())
    assert told(store_document(graph, record("a", ["the text"], "other"))) == ("created", ())
    assert told(store_document(graph, record("b", ["the text"]))) == ("created", ("a",))
    assert told(store_document(graph, record("b", ["the text"]))) == ("unchanged", ())
    assert told(store_document(graph, record("b", ["other"]))) == ("updated", ())
    assert told(store_document(graph, record("c", ["the text", "and more"]))) == ("created", ())


def test_of_a_batch_the_earlier_ones_count_and_not_what_is_changed_in_it(graph: Graph) -> None:
    store_document(graph, record("a", ["old"]))
    batch = [record("a", ["new"]), record("b", ["old"]), record("c", ["new"]), record("d", ["new"])]
    assert [told(each) for each in store_documents(graph, batch)] == [
        ("updated", ()),
        ("created", ()),
        ("created", ("a",)),
        ("created", ("a",)),
    ]


def test_a_new_one_is_left_out_and_a_stored_one_is_brought_up_to_date(
    graph: Graph, driver: neo4j.Driver
) -> None:
    batch = [skipping("a"), skipping("b"), skipping("c", "other")]
    assert [told(each) for each in store_documents(graph, batch)] == [
        ("created", ()),
        ("skipped", ("a",)),
        ("created", ()),
    ]
    assert preview_document(graph, skipping("b")) == (StoredChange("skipped", 0, 0, 0, None, ("a",)), [])
    assert names(driver) == ["a", "c"]
    assert told(store_document(graph, skipping("c"))) == ("updated", ("a",))
    delete_document(graph, record("a", []).document_id)
    assert told(store_document(graph, skipping("b"))) == ("skipped", ("c",))


def test_of_many_that_come_at_once_one_is_stored_and_all_others_are_told(
    graph: Graph, driver: neo4j.Driver
) -> None:
    store_document(graph, record("first", ["something else"]))
    together = threading.Barrier(6)

    def store(number: int) -> StoreResult:
        together.wait()
        new = record(f"{number}", ["the text"])
        return store_document(graph, replace(new, skip_duplicate=bool(number % 2)))

    with ThreadPoolExecutor(6) as pool:
        found = [told(each) for each in pool.map(store, range(6))]
    assert [same for _, same in found].count(()) == 1
    stored = [str(number) for number, (change, _) in enumerate(found) if change == "created"]
    assert names(driver) == sorted(["first", *stored])
    assert all(change == "created" for change, _ in found[::2])


def test_a_folder_tells_a_renamed_file_from_a_copy(graph: Graph, tmp_path: Path) -> None:
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


def test_a_first_batch_is_not_compared_with_all_documents(graph: Graph, driver: neo4j.Driver) -> None:
    """It was a walk over the ontology for each text: 40 s for 3,200 documents in one transaction."""
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
