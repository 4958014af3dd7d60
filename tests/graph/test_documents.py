import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.errors import Conflict, KgError, NotFound, TooBusy
from kg_api.graph import document_writes, library
from kg_api.graph import review as waiting
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import (
    MAX_CHARACTERS_PER_TRANSACTION,
    MAX_SOURCES_PER_TRANSACTION,
    StoreResult,
    delete_ontology,
    split_to_transactions,
    store_document,
    store_documents,
)
from kg_api.graph.folders import find_folder, register
from kg_api.graph.library import change_by_name, list_documents, read_outline
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.graph.review import count_waiting, list_waiting, read_waiting
from kg_api.graph.spaces import read_configurations
from kg_api.ingest.folders import FolderService
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import ReviewService, store_each
from kg_api.schemas.base import build_document_id
from kg_api.schemas.documents import Approval, Approved, DocumentChange, DocumentRecord, Review
from kg_api.schemas.folders import NewFolder
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.sync import EVERYWHERE, counts, documents, follow, put, scan, work


def count(driver: neo4j.Driver, label: str) -> int:
    return rows(driver, f"MATCH (n:{label}) RETURN count(n) AS n")[0]["n"]


def elements(driver: neo4j.Driver) -> dict[str, str]:
    found = rows(driver, "MATCH (s:Source) RETURN s.full_text AS text, elementId(s) AS id")
    return {row["text"].strip(): row["id"] for row in found}


def test_unchanged_paragraphs_keep_their_node_wherever_they_move(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["one", "two", "three"]))
    before = elements(driver)
    change = store_document(graph, record("a.md", ["zero", "three", "one"])).change
    after = elements(driver)
    assert (change.change, change.added, change.kept, change.removed) == ("updated", 1, 2, 1)
    assert {text: after[text] for text in ("one", "three")} == {
        text: before[text] for text in ("one", "three")
    }
    assert library.find_document(graph, build_document_id("notes", "a.md")).text == "zero\n\nthree\n\none\n\n"


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


def test_concurrent_delete_and_write_leave_no_orphans(graph: Graph, driver: neo4j.Driver) -> None:
    def write(number: int) -> None:
        store_document(graph, record("a.md", [f"text {number} {n}" for n in range(20)]))

    def delete(number: int) -> None:
        del number
        document_writes.delete_document(graph, build_document_id("notes", "a.md"))

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(act, number) for number in range(20) for act in (write, delete)]
        for each in done:
            each.result()
    orphans = "MATCH (s:Source) WHERE NOT (s)-[:PART_OF]->(:Document) RETURN s"
    assert rows(driver, orphans) == []


STORED = (
    "MATCH (d:Document)-[:IN_ONTOLOGY]->(o:Ontology) "
    "OPTIONAL MATCH (s:Source)-[:PART_OF]->(d) "
    "WITH o, d, s ORDER BY s.paragraph "
    "RETURN o.name AS ontology, d.document AS document, d.title AS title, d.sources AS told, "
    "collect([s.full_text, s.title, s.paragraph, s.heading, s.ontology, s.document]) AS sources "
    "ORDER BY ontology, document"
)
JOBS = "MATCH (j:Job) RETURN j.total AS total, j.wanted AS wanted"


def some(names: Sequence[str], words: str = "text", ontology: str = "notes") -> list[DocumentRecord]:
    return [record(name, [f"{words} of {name}", "shared"], ontology) for name in names]


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


def given(name: str, text: str, *, review: bool = True) -> DocumentRecord:
    return to_record(Incoming("notes", name, text, review=review, metadata={"tags": ["a"]}))[0]


def change(stored: StoreResult) -> str:
    return stored.change.change


def store(graph: Graph, name: str, text: str, *, review: bool = True) -> str:
    return change(store_document(graph, given(name, text, review=review)))


def pending(graph: Graph) -> list[str]:
    return [each.document for each in list_waiting(graph, ontology=None, offset=0, limit=100).documents]


@pytest.fixture
def service(graph: Graph) -> ReviewService:
    return ReviewService(graph, lambda _tx, _ontology, _count: None)


def approve(service: ReviewService, *documents: str) -> list[str | None]:
    done = service.approve(Approval(ontology="notes", documents=list(documents)))
    return [each.ingested.change if each.ingested else None for each in done.outcomes]


def test_approved_document_is_stored_like_a_new_one(graph: Graph, service: ReviewService) -> None:
    store(graph, "a.md", "# A\n\nThe text.\n")
    done = service.approve(Approval(ontology="notes", documents=["a.md", "none.md"]))
    assert done.unknown == ["none.md"]
    ingested = done.outcomes[0].ingested
    assert ingested is not None
    assert (ingested.change, ingested.sources.added, ingested.job_id is None) == ("created", 1, False)
    assert documents(graph) == {"a.md": "# A\n\nThe text.\n"}
    assert list_documents(graph, ontology="notes", where=[], offset=0, limit=9).documents[0].metadata == {
        "tags": ["a"]
    }
    assert count_waiting(graph) == {}
    assert service.approve(Approval(ontology="notes", documents=["a.md"])).unknown == ["a.md"]


@pytest.mark.parametrize("name", ["a.md", "notes/a.md", build_document_id("notes", "a.md")])
def test_pending_document_is_not_found_with_the_fix(graph: Graph, service: ReviewService, name: str) -> None:
    store(graph, "a.md", "The text.")
    with pytest.raises(NotFound, match=r"'a\.md' in 'notes' waits.*kg documents waiting --ontology 'notes'"):
        change_by_name(graph, name, DocumentChange(title="Mine"))
    with limit_visible_ontologies(["others"]), pytest.raises(NotFound, match="not found"):
        change_by_name(graph, name, DocumentChange(title="Mine"))
    service.reject(Review(ontology="notes", documents=["a.md"]))
    with pytest.raises(NotFound, match="not found"):
        change_by_name(graph, name, DocumentChange(title="Mine"))


def test_outline_has_the_first_paragraph_of_each_heading(graph: Graph) -> None:
    store(graph, "a.md", "Before.\n\n# A\n\nOne.\n\n# B\n\nTwo.\n", review=False)
    assert read_outline(graph, build_document_id("notes", "a.md")) == [(["A"], 1), (["B"], 2)]


def test_new_version_replaces_the_pending_document(graph: Graph, service: ReviewService) -> None:
    store(graph, "a.md", "Stored.", review=False)
    assert store(graph, "a.md", "Second.") == "waiting"
    assert store(graph, "a.md", "Third.") == "waiting"
    assert documents(graph) == {"a.md": "Stored."}
    assert list_waiting(graph, ontology=None, offset=0, limit=9).documents[0].replaces
    assert approve(service, "a.md") == ["updated"]
    assert documents(graph) == {"a.md": "Third."}
    assert store(graph, "a.md", "Third.") == "unchanged"
    store(graph, "a.md", "Fourth.")
    assert store(graph, "a.md", "Third.") == "unchanged"
    assert pending(graph) == []


def test_only_reviewed_version_is_approved(graph: Graph) -> None:
    store(graph, "a.md", "Seen.")
    (seen,) = read_waiting(graph, "notes", ["a.md"], after="", limit=1)
    approved = replace(given("a.md", "Seen.", review=False), approves=seen.version)
    store(graph, "a.md", "Newer.")
    (outcome,) = store_each(graph, [approved], None).values()
    assert isinstance(outcome, Conflict)
    assert documents(graph) == {}
    assert pending(graph) == ["a.md"]


def test_approval_in_batches_keeps_failed_documents_pending(
    graph: Graph, service: ReviewService, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg_api.ingest.service.APPROVED_A_REQUEST", 2)
    store_documents(graph, [given(f"{n}.md", f"Text {n}.") for n in range(5)])
    rows(driver, "MATCH (w:WaitingDocument {document: '1.md'}) SET w.given = 'nothing'")
    found: list[Approved] = [service.approve(Approval(ontology="notes", all=True))]
    while found[-1].next:
        found.append(service.approve(Approval(ontology="notes", all=True, after=found[-1].next)))
    assert [len(each.outcomes) for each in found] == [2, 2, 1]
    assert [each.problem is None for each in found[0].outcomes] == [True, False]
    assert len(documents(graph)) == 4
    assert pending(graph) == ["1.md"]


def test_rejection_skip_and_ontology_deletion_remove_pending_documents(
    graph: Graph, service: ReviewService, driver: neo4j.Driver
) -> None:
    store(graph, "a.md", "Stored.", review=False)
    store_documents(graph, [given("b.md", "One."), given("c.md", "Two."), given("d.md", "Three.")])
    assert store_document(graph, given("e.md", "Stored.")).change.same_text == ("a.md",)
    done = service.reject(Review(ontology="notes", documents=["b.md", "z.md"]))
    assert (done.rejected, done.unknown, done.waiting) == (1, ["z.md"], 3)
    assert service.reject(Review(ontology="notes", all=True)).rejected == 3
    assert documents(graph) == {"a.md": "Stored."}
    store(graph, "f.md", "Waits.")
    assert delete_ontology(graph, "notes").notes == ["also deleted: 1 document waiting for approval"]
    store(graph, "g.md", "Waits in an ontology without documents.")
    assert delete_ontology(graph, "notes").notes == ["also deleted: 1 document waiting for approval"]
    assert delete_ontology(graph, "notes").notes[0].startswith("nothing was deleted")
    assert rows(driver, "MATCH (w:WaitingDocument) RETURN w.document AS name") == []


def test_number_of_pending_documents_is_bounded(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_WAITING", 2)
    outcomes = store_each(graph, [given(f"{n}.md", f"Text {n}.") for n in range(3)], None)
    refused = [each for each in outcomes.values() if isinstance(each, Conflict)]
    assert (len(refused), len(pending(graph))) == (1, 2)
    assert "approve or reject" in str(refused[0])


def test_folder_files_are_pending_until_approved_then_synced(
    graph: Graph, service: ReviewService, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    put(folder, one="First.\n", two="Second.\n", three="Third.\n")
    followed = register(graph, NewFolder(path=str(folder), ontology="notes", review=True))
    work(graph)
    assert pending(graph) == ["one.md", "three.md", "two.md"]
    assert counts(scan(graph, followed)) == {"unchanged": 3}
    assert approve(service, "one.md") == ["created"]
    service.reject(Review(ontology="notes", documents=["two.md"]))
    assert counts(scan(graph, followed)) == {"unchanged": 3}
    assert (documents(graph), pending(graph)) == ({"one.md": "First.\n"}, ["three.md"])
    put(folder, one="Changed.\n", two="Second, better.\n")
    assert counts(scan(graph, followed)) == {"waiting": 2, "unchanged": 1}
    assert documents(graph) == {"one.md": "First.\n"}
    put(folder, one="First.\n")
    (folder / "three.md").unlink()
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert pending(graph) == ["two.md"]
    (folder / "one.md").unlink()
    assert counts(scan(graph, followed)) == {"removed": 1, "unchanged": 1}
    assert (documents(graph), pending(graph)) == ({}, ["two.md"])
    FolderService(graph, EVERYWHERE).remove(followed, delete_documents=False)
    assert pending(graph) == ["two.md"], "a user can still approve the document"
    (folder / "two.md").unlink()
    followed = register(graph, NewFolder(path=str(folder), ontology="notes"))
    work(graph)
    assert counts(find_folder(graph, followed)) == {}, "an empty folder has no pending documents"
