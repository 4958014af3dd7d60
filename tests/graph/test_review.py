from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import neo4j
import pytest

from kg_api.errors import Conflict
from kg_api.graph import review as waiting
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import (
    StoreResult,
    delete_ontology,
    store_document,
    store_documents,
    storing,
)
from kg_api.graph.folders import register
from kg_api.graph.library import list_documents
from kg_api.graph.review import count_waiting, list_waiting, read_waiting
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import ReviewService, store_each
from kg_api.schemas.documents import Approval, Approved, DocumentRecord, Review
from kg_api.schemas.folders import NewFolder
from tests.support.cypher import rows
from tests.support.sync import counts, documents, put, scan, work

LABELS = "MATCH (n) WHERE NOT n:Migration UNWIND labels(n) AS label RETURN DISTINCT label ORDER BY label"


def given(name: str, text: str, *, review: bool = True) -> DocumentRecord:
    return to_record(Incoming("notes", name, text, review=review, metadata={"tags": ["a"]}))[0]


def change(stored: StoreResult) -> str:
    return stored.change.change


def store(graph: Graph, name: str, text: str, *, review: bool = True) -> str:
    return change(store_document(graph, given(name, text, review=review)))


def names(graph: Graph) -> list[str]:
    return [each.document for each in list_waiting(graph, ontology=None, offset=0, limit=100).documents]


@pytest.fixture
def service(graph: Graph) -> ReviewService:
    return ReviewService(graph, lambda _tx, _ontology, _count: None)


def approve(service: ReviewService, *documents: str) -> list[str | None]:
    done = service.approve(Approval(ontology="notes", documents=list(documents)))
    return [each.ingested.change if each.ingested else None for each in done.outcomes]


def test_pending_document_has_only_one_node(graph: Graph, driver: neo4j.Driver) -> None:
    assert store(graph, "a.md", "# A\n\nThe text.\n") == "waiting"
    assert rows(driver, LABELS) == [{"label": "WaitingDocument"}]
    (told,) = list_waiting(graph, ontology="notes", offset=0, limit=10).documents
    assert (told.document, told.title, told.sources, told.replaces) == ("a.md", "A", 1, False)
    assert told.beginning == "# A\n\nThe text.\n"


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
    assert names(graph) == []


def test_ingest_without_review_replaces_the_pending_document(graph: Graph) -> None:
    store(graph, "a.md", "Waits.")
    store(graph, "b.md", "Waits.")
    store_documents(graph, [given("a.md", "Newer.", review=False), given("c.md", "Waits too.")])
    assert documents(graph) == {"a.md": "Newer."}
    assert names(graph) == ["b.md", "c.md"]


def test_only_reviewed_version_is_approved(graph: Graph) -> None:
    store(graph, "a.md", "Seen.")
    (seen,) = read_waiting(graph, "notes", ["a.md"], after="", limit=1)
    approved = replace(given("a.md", "Seen.", review=False), approves=seen.version)
    store(graph, "a.md", "Newer.")
    (outcome,) = store_each(graph, [approved], None).values()
    assert isinstance(outcome, Conflict)
    assert documents(graph) == {}
    assert names(graph) == ["a.md"]


def test_a_transaction_that_runs_twice_approves_once(graph: Graph, driver: neo4j.Driver) -> None:
    store(graph, "a.md", "Seen.")
    (seen,) = read_waiting(graph, "notes", ["a.md"], after="", limit=1)
    work = storing([replace(given("a.md", "Seen.", review=False), approves=seen.version)])
    assert [change(each) for each in graph.transaction(work)] == ["created"]
    assert [change(each) for each in graph.transaction(work)] == ["created"]
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 1}]


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
    assert names(graph) == ["1.md"]


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
    delete_ontology(graph, "notes")
    assert rows(driver, "MATCH (w:WaitingDocument) RETURN w.document AS name") == []


def test_number_of_pending_documents_is_bounded(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_WAITING", 2)
    outcomes = store_each(graph, [given(f"{n}.md", f"Text {n}.") for n in range(3)], None)
    refused = [each for each in outcomes.values() if isinstance(each, Conflict)]
    assert (len(refused), len(names(graph))) == (1, 2)
    assert "approve or reject" in str(refused[0])


def test_folder_files_are_pending_until_approved_then_synced(
    graph: Graph, service: ReviewService, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    put(folder, one="First.\n", two="Second.\n", three="Third.\n")
    followed = register(graph, NewFolder(path=str(folder), ontology="notes", review=True))
    work(graph)
    assert names(graph) == ["one.md", "three.md", "two.md"]
    assert counts(scan(graph, followed)) == {"unchanged": 3}
    assert approve(service, "one.md") == ["created"]
    service.reject(Review(ontology="notes", documents=["two.md"]))
    assert counts(scan(graph, followed)) == {"unchanged": 3}
    assert (documents(graph), names(graph)) == ({"one.md": "First.\n"}, ["three.md"])
    put(folder, one="Changed.\n", two="Second, better.\n")
    assert counts(scan(graph, followed)) == {"waiting": 2, "unchanged": 1}
    assert documents(graph) == {"one.md": "First.\n"}
    put(folder, one="First.\n")
    (folder / "three.md").unlink()
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert names(graph) == ["two.md"]
    (folder / "one.md").unlink()
    assert counts(scan(graph, followed)) == {"removed": 1, "unchanged": 1}
    assert (documents(graph), names(graph)) == ({}, ["two.md"])
