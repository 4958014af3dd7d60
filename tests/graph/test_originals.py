from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore, compute_blob_key
from kg_api.convert.pdf import convert
from kg_api.errors import Conflict
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document, store_documents
from kg_api.graph.folders import request_scan
from kg_api.graph.images import hold_blobs
from kg_api.graph.review import reject_waiting
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import ReviewService
from kg_api.schemas.base import document_id
from kg_api.schemas.documents import Approval, Converted, DocumentRecord
from kg_api.schemas.formats import ConvertedFormat, OcrMode
from tests.support.cypher import rows
from tests.support.hostile_files import pdf_of_pages
from tests.support.sync import EVERYWHERE, LARGEST, follow, work

PDF, OTHER = pdf_of_pages(3), pdf_of_pages(4)


class InThisProcess:
    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        assert (form, ocr) == ("pdf", "auto")
        return convert(data)

    def convert_with(self, data: bytes, form: str, beside: Mapping[str, bytes]) -> Converted:
        raise NotImplementedError

    def get_ocr_fingerprint(self) -> str:
        return "nothing"


@dataclass(frozen=True, slots=True)
class Library:
    """Store for files, and the documents that use them."""

    graph: Graph
    driver: neo4j.Driver
    folder: Path

    @property
    def stored(self) -> StoredFiles:
        return StoredFiles(self.graph, FileBlobStore(self.folder))

    def reader(self, *, keep: bool = True) -> DocumentReader:
        return DocumentReader(InThisProcess(), ImageKeeper(self.stored), keep_pdfs=keep)

    def record(self, content: bytes, name: str, *, keep: bool = True, review: bool = False) -> DocumentRecord:
        given = Incoming("notes", name, "", review=review)
        return to_record(self.reader(keep=keep).from_bytes(content, given)[0])[0]

    def add(self, content: bytes, name: str, *, keep: bool = True) -> str:
        return store_document(self.graph, self.record(content, name, keep=keep)).change.change

    def collect(self) -> int:
        return self.stored.collect()

    def delete(self, name: str) -> None:
        delete_document(self.graph, document_id("notes", name))

    @property
    def files(self) -> set[str]:
        return {path.name.partition("-")[0] for path in self.folder.rglob("*-*")}

    @property
    def used(self) -> dict[str, str]:
        query = "MATCH (d:Document)-[:ORIGINAL]->(b:Blob) RETURN d.document AS name, b.key AS key"
        return {row["name"]: row["key"] for row in rows(self.driver, query)}


@pytest.fixture
def library(graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> Library:
    return Library(graph, driver, tmp_path / "blobs")


def test_the_same_pdf_twice_is_one_file(library: Library) -> None:
    assert [library.add(PDF, "a.pdf"), library.add(PDF, "b.pdf")] == ["created", "created"]
    key = compute_blob_key(PDF)
    assert (library.used, library.files) == ({"a.pdf": key, "b.pdf": key}, {key})
    assert library.stored.read(key) == PDF
    assert library.collect() == 0
    library.delete("a.pdf")
    assert (library.collect(), library.files) == (0, {key})
    library.delete("b.pdf")
    assert (library.collect(), library.files) == (1, set())


def test_another_pdf_with_same_text_replaces_the_file(library: Library) -> None:
    library.add(PDF, "a.pdf")
    again = PDF + b"\n% saved again"
    assert library.add(PDF, "a.pdf") == "unchanged"
    assert library.add(again, "a.pdf") == "updated"
    assert library.used == {"a.pdf": compute_blob_key(again)}
    assert (library.collect(), library.files) == (1, {compute_blob_key(again)})


def test_earlier_document_receives_its_file_on_ingest(library: Library) -> None:
    library.add(PDF, "a.pdf", keep=False)
    assert (library.used, library.files) == ({}, set())
    stored = store_document(library.graph, library.record(PDF, "a.pdf"))
    assert (stored.change.change, stored.change.added, stored.job_id) == ("updated", 0, None)
    assert library.used == {"a.pdf": compute_blob_key(PDF)}
    assert library.add(PDF, "a.pdf", keep=False) == "updated"
    assert (library.used, library.collect(), library.files) == ({}, 1, set())


def test_document_replaced_by_text_releases_its_file(library: Library) -> None:
    library.add(PDF, "a.pdf")
    text, _ = to_record(Incoming("notes", "a.pdf", "Only words.", format="text"))
    store_document(library.graph, text)
    assert (library.used, library.collect(), library.files) == ({}, 1, set())


def test_pending_pdf_keeps_its_file_until_rejected(library: Library) -> None:
    for name in ("a.pdf", "b.pdf"):
        store_document(library.graph, library.record(PDF, name, review=True))
    assert (library.used, library.collect(), library.files) == ({}, 0, {compute_blob_key(PDF)})
    approved = ReviewService(library.graph, lambda *_: None).approve(
        Approval(ontology="notes", documents=["a.pdf"])
    )
    assert [each.problem for each in approved.outcomes] == [None]
    assert library.used == {"a.pdf": compute_blob_key(PDF)}
    library.delete("a.pdf")
    assert library.collect() == 0
    reject_waiting(library.graph, "notes", ["b.pdf"], limit=10)
    assert (library.collect(), library.files) == (1, set())


def test_document_with_deleted_file_is_rejected(library: Library) -> None:
    made = library.record(PDF, "a.pdf")
    rows(library.driver, "MATCH (h:BlobHold) DETACH DELETE h")
    assert library.collect() == 1
    with pytest.raises(Conflict, match="Send the document again"):
        store_document(library.graph, made)
    assert library.used == {}


def test_many_pdfs_of_one_batch(library: Library) -> None:
    made = [library.record((PDF, OTHER)[number % 2], f"{number}.pdf") for number in range(20)]
    store_documents(library.graph, made)
    assert (len(library.used), library.files) == (20, {compute_blob_key(PDF), compute_blob_key(OTHER)})
    hold_blobs(library.graph, [compute_blob_key(PDF)])
    for number in range(20):
        library.delete(f"{number}.pdf")
    assert (library.collect(), library.files) == (1, {compute_blob_key(PDF)})


def test_pdfs_of_synced_folder_receive_their_files(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(PDF)
    followed = follow(library.graph, folder)

    def scan(*, keep: bool) -> None:
        request_scan(library.graph, followed)
        work(
            library.graph,
            handler=FolderSync(library.graph, EVERYWHERE, LARGEST, library.reader(keep=keep), None),
        )

    scan(keep=False)
    assert library.used == {}
    scan(keep=True)
    assert library.used == {"a.pdf": compute_blob_key(PDF)}
