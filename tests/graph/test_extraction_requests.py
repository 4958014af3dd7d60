from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.folders import request_scan
from kg_api.graph.jobs import EXTRACTION
from kg_api.graph.library import list_documents
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.records import Incoming
from kg_api.ingest.service import IngestService
from kg_api.schemas.operations import Job
from kg_api.settings import load_settings
from tests.support.extraction import configure_extraction
from tests.support.jobs import finish, owned
from tests.support.records import record
from tests.support.sync import EVERYWHERE, LARGEST, READER, follow, put, work

T = TypeVar("T")


class KilledError(BaseException):
    """Error to raise when the process should be killed."""


class Killed(Graph):
    """Graph for a process that is killed after its first commit."""

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        super().transaction(work)
        raise KilledError


class Refused(Graph):
    def transaction(self, work: Callable[[Transaction], T]) -> T:
        def failing(tx: Transaction) -> T:
            work(tx)
            raise KilledError

        return super().transaction(failing)


def as_process(graph: Graph, kind: type[Graph]) -> Graph:
    made = kind.__new__(kind)
    made.__dict__.update(graph.__dict__)
    return made


@pytest.fixture
def asking(graph: Graph) -> ExtractionRequests:
    configure_extraction(graph, extractor="keyphrase")
    return asking_by(graph)


def asking_by(graph: Graph) -> ExtractionRequests:
    return ExtractionRequests(graph, Extractors(graph, load_settings()))


def extractions(graph: Graph) -> list[Job]:
    return jobs.page_of_jobs(graph, state=None, kind=EXTRACTION, ontology=None, offset=0, limit=9)[0]


def names(graph: Graph) -> list[str]:
    return [each.document for each in list_documents(graph, ontology=None, offset=0, limit=9).documents]


def ingest(graph: Graph, text: str = "One.\n") -> None:
    IngestService(graph, READER, asking_by(graph).request).ingest(Incoming("notes", "a.txt", text))


@pytest.mark.usefixtures("asking")
def test_after_a_kill_both_are_there_or_neither(graph: Graph) -> None:
    with pytest.raises(KilledError):
        ingest(as_process(graph, Refused))
    assert (names(graph), extractions(graph)) == ([], [])
    with pytest.raises(KilledError):
        ingest(as_process(graph, Killed))
    assert (names(graph), len(extractions(graph))) == (["a.txt"], 1)


def test_folder_scan_requests_extraction_per_file(
    graph: Graph, asking: ExtractionRequests, tmp_path: Path
) -> None:
    put(tmp_path / "notes", one="# One\n\nFirst.\n", two="Second.\n")
    request_scan(graph, follow(graph, tmp_path / "notes"))
    work(graph, handler=FolderSync(graph, EVERYWHERE, LARGEST, READER, asking.request))
    assert [job.total for job in extractions(graph)] == [2]


def test_only_new_text_requests_extraction(graph: Graph, asking: ExtractionRequests) -> None:
    store_document(graph, record("a.md", ["One.", "Two."]), asking.request)
    assert [job.total for job in extractions(graph)] == [2]
    store_document(graph, record("a.md", ["One.", "Two."]), asking.request)
    store_document(graph, record("a.md", ["Two.", "Three."]), asking.request)
    assert [job.total for job in extractions(graph)] == [3], "one more source, in the job that waits"
    finish(graph, *owned(graph, "w", kind=EXTRACTION))
    delete_document(graph, record("a.md", []).document_id)
    assert [job.state for job in extractions(graph)] == ["succeeded"]


def test_disabled_extraction_requests_no_job(graph: Graph) -> None:
    configure_extraction(graph, extractor="none")
    ingest(graph)
    assert (names(graph), extractions(graph)) == (["a.txt"], [])


def test_cancelled_extraction_is_not_requested_again(graph: Graph, asking: ExtractionRequests) -> None:
    store_document(graph, record("a.md", ["One."]), asking.request)
    jobs.cancel_job(graph, extractions(graph)[0].job_id)
    store_document(graph, record("b.md", ["Two."]), asking.request)
    assert [job.state for job in extractions(graph)] == ["cancelled"]


@pytest.mark.usefixtures("asking")
def test_full_queue_does_not_reject_documents(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "most_queued", 1)
    ingest(graph)
    assert (names(graph), extractions(graph)) == (["a.txt"], [])
    monkeypatch.setattr(graph, "most_queued", 2)
    ingest(graph, "Two.\n")
    monkeypatch.setattr(graph, "most_queued", 1)
    ingest(graph, "Three.\n")
    assert [job.total for job in extractions(graph)] == [2], "it joins the job that waits"
