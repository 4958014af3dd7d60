import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import MARKER, FileBlobStore, compute_blob_key
from kg_api.errors import Conflict, FileLost, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.images import find_image, get_known_store, hold_blobs, list_images
from kg_api.graph.library import change_by_name, find_source
from kg_api.graph.review import reject_waiting
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import IngestService, ReviewService
from kg_api.schemas.base import build_document_id
from kg_api.schemas.documents import Approval, Converted, DocumentChange
from kg_api.schemas.formats import ConvertedFormat, OcrMode
from tests.conftest import wipe
from tests.support.cypher import rows
from tests.support.hostile_files import pdf_of_pages
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess, Pictures

BOAT, PLAN = encoded(drawn(64, 48), compress_level=3), encoded(drawn(30, 90))
"""The first image is stored unchanged, because it is already in the format that kg uses."""


@pytest.fixture
def pictures(graph: Graph, tmp_path: Path) -> Pictures:
    return Pictures(graph, tmp_path / "blobs")


def test_same_image_twice_shares_one_file(pictures: Pictures, graph: Graph) -> None:
    one, other = pictures.add(BOAT, "a/Red boat.jpg"), pictures.add(BOAT, "b/boat.png")
    page = list_images(graph, ontology="notes", offset=0, limit=10)
    assert [each.document for each in page.images] == ["a/Red boat.jpg", "b/boat.png"]
    assert [each.full_text for each in page.images] == ["a Red boat", "b boat"]
    keys = {each.image.storage_key for each in page.images if each.image}
    assert len(keys) == 1
    assert pictures.files == 2  # the picture and its thumbnail
    assert pictures.collect() == 0
    delete_document(graph, one)
    assert (pictures.collect(), pictures.files) == (0, 2)
    delete_document(graph, other)
    assert (pictures.collect(), pictures.files) == (2, 0)


def test_images_are_listed_in_the_order_of_their_documents(pictures: Pictures, graph: Graph) -> None:
    names = [("notes", "b.jpg"), ("photos", "a.jpg"), ("notes", "a.jpg"), ("photos", "c.jpg")]
    for ontology, document in names:
        pictures.add(BOAT, document, ontology=ontology)
    pages = [list_images(graph, ontology=None, offset=at, limit=2) for at in (0, 2)]
    assert [(each.ontology, each.document) for page in pages for each in page.images] == sorted(names)


def test_image_is_found_by_its_description(pictures: Pictures, graph: Graph) -> None:
    reader = DocumentReader(InThisProcess(), ImageKeeper(pictures.stored))
    said = {"description": "Pebbles at\nthe seaside", "caption": "Pebbles", "camera": "A7"}
    given = Incoming("notes", "IMG_9.jpg", "", title="Pebbles", metadata={**said})
    store_document(graph, to_record(reader.from_bytes(BOAT, given)[0])[0])
    (stored,) = list_images(graph, ontology="notes", offset=0, limit=10).images
    assert stored.full_text.splitlines() == ["IMG 9", "Pebbles", "Pebbles at the seaside"]
    changed = change_by_name(graph, "IMG_9.jpg", DocumentChange(title="Shells"))
    assert "ingest it again" in changed.notes[0]
    assert change_by_name(graph, "IMG_9.jpg", DocumentChange(uri="file:///x")).notes == []


def test_held_file_is_kept_until_its_hold_expires(pictures: Pictures, graph: Graph) -> None:
    pictures.record(BOAT, "x.jpg")
    assert (pictures.collect(), pictures.files) == (0, 2)
    graph.write("blobs/hold", hold_id="of a process that died", keys=["a" * 64], seconds=-1)
    assert pictures.collect() == 1
    assert pictures.files == 2


class CountedReading(InThisProcess):
    def __init__(self) -> None:
        self.converted = 0

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        self.converted += 1
        return super().convert(data, form, ocr)


def test_same_file_is_converted_once_until_something_changes(pictures: Pictures, graph: Graph) -> None:
    converters = CountedReading()
    reader = DocumentReader(converters, ImageKeeper(pictures.stored))
    service = IngestService(graph, reader, lambda *_: None)

    def ingest(content: bytes = BOAT, **given: Any) -> tuple[str, int]:
        before = converters.converted
        told = service.ingest(Incoming("notes", "a.png", "", **given), content)
        assert told.title == "a"
        return told.change, converters.converted - before

    assert [ingest(), ingest(), ingest(review=True)] == [("created", 1), ("unchanged", 0), ("unchanged", 0)]
    assert [ingest(modified="2026-01-01"), ingest(modified="2026-01-01")] == [
        ("unchanged", 1),
        ("unchanged", 0),
    ]
    assert [ingest(uri="file:///a"), ingest(PLAN), ingest(PLAN)] == [
        ("updated", 1),
        ("updated", 1),
        ("unchanged", 0),
    ]
    assert [ingest(review=True), ingest(PLAN), ingest(PLAN)] == [
        ("waiting", 1),
        ("unchanged", 1),
        ("unchanged", 0),
    ]
    assert ingest() == ("updated", 1)
    pictures.lose(BOAT)
    assert ingest() == ("unchanged", 1)
    assert pictures.read(compute_blob_key(BOAT)) == BOAT
    pictures.damage(BOAT)
    assert ingest() == ("unchanged", 0)
    with pytest.raises(FileLost, match="damaged"):
        pictures.read(compute_blob_key(BOAT))
    assert ingest() == ("unchanged", 1)
    store_document(graph, pictures.record(PLAN, "a.png"))
    assert ingest() == ("updated", 1)


ANOTHER = "does not contain the files"


@pytest.fixture
def elsewhere(graph: Graph, tmp_path: Path) -> Pictures:
    """Return the same graph with the folder that would be used if the right one is not mounted."""
    (tmp_path / "elsewhere").mkdir()
    return Pictures(graph, tmp_path / "elsewhere")


def as_before_there_were_markers(pictures: Pictures, driver: neo4j.Driver) -> None:
    (pictures.folder / MARKER).unlink()
    rows(driver, "MATCH (s:BlobStore) DELETE s")


def test_unmounted_store_rejects_every_operation(
    pictures: Pictures, elsewhere: Pictures, graph: Graph
) -> None:
    identity = pictures.add(BOAT, "boat.jpg")
    for ask in (lambda: elsewhere.add(PLAN, "plan.png"), lambda: elsewhere.read(compute_blob_key(BOAT))):
        with pytest.raises(Unavailable, match=ANOTHER):
            ask()
    delete_document(graph, identity)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.collect()
    assert [*elsewhere.folder.iterdir()] == []
    FileBlobStore(elsewhere.folder).mark("of another")
    for path in pictures.paths(BOAT):
        copied = elsewhere.folder / path.relative_to(pictures.folder)
        copied.parent.mkdir(exist_ok=True)
        shutil.copy(path, copied)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.collect()
    assert elsewhere.files == 1
    assert (pictures.collect(), pictures.files) == (2, 0)


def test_unmarked_store_is_recognized_by_its_files(
    pictures: Pictures, elsewhere: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    pictures.add(BOAT, "boat.jpg")
    as_before_there_were_markers(pictures, driver)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.add(PLAN, "plan.png")
    pictures.add(PLAN, "plan.png")
    assert FileBlobStore(pictures.folder).identity() == get_known_store(graph) is not None
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.read(compute_blob_key(BOAT))


def test_lost_files_require_confirmation_of_the_store(pictures: Pictures, elsewhere: Pictures) -> None:
    pictures.add(BOAT, "boat.jpg")
    with pytest.raises(Unavailable, match=ANOTHER) as caught:
        elsewhere.add(BOAT, "boat.jpg")
    marker = str(caught.value).partition(", write ")[2].removesuffix(" there").partition(" to ")
    assert json.loads(marker[0])
    (elsewhere.folder / marker[2]).write_text(marker[0])
    with pytest.raises(FileLost):
        elsewhere.read(compute_blob_key(BOAT))
    elsewhere.add(BOAT, "boat.jpg")
    assert elsewhere.read(compute_blob_key(BOAT)) == BOAT


def test_a_marker_that_was_lost_is_made_again(pictures: Pictures, graph: Graph) -> None:
    pictures.add(BOAT, "boat.jpg")
    for content in (None, b"", b"{", b"[]", b'{"store": 1}'):
        (pictures.folder / MARKER).unlink()
        if content is not None:
            (pictures.folder / MARKER).write_bytes(content)
        pictures.add(PLAN, "plan.png")
        assert FileBlobStore(pictures.folder).identity() == get_known_store(graph)


def test_emptied_database_accepts_the_present_store(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    pictures.add(BOAT, "boat.jpg")
    before = get_known_store(graph)
    wipe(driver)
    pictures.add(PLAN, "plan.png")
    assert get_known_store(graph) == FileBlobStore(pictures.folder).identity() == before


class LateDeletes(FileBlobStore):
    """Store that does not respond to a deletion in time, but will delete the file later."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.late = list[str]()

    def delete(self, name: str) -> None:
        self.late.append(name)
        raise Unavailable("it did not respond in time")

    def carry_out(self) -> None:
        for name in self.late:
            super().delete(name)


def shown(pictures: Pictures) -> list[str]:
    places = list_images(pictures.graph, ontology=None, offset=0, limit=10).images
    for each in places:
        keys = find_image(pictures.graph, each.source_id)
        assert pictures.read(keys.storage_key)
        assert pictures.read(keys.thumbnail_key)
    return [each.document for each in places]


def test_late_deletion_is_harmless(pictures: Pictures, graph: Graph) -> None:
    delete_document(graph, pictures.add(BOAT, "x.jpg"))
    store = LateDeletes(pictures.folder)
    for _ in range(2):
        with pytest.raises(Unavailable):
            StoredFiles(graph, store).collect()
    pictures.add(BOAT, "x.jpg")
    store.carry_out()
    assert shown(pictures) == ["x.jpg"]
    assert pictures.collect() == 2  # what was left of those that had gone
    assert shown(pictures) == ["x.jpg"]
    assert (pictures.files, pictures.collect()) == (2, 0)


def test_folder_unmounted_during_deletion_keeps_files_known(pictures: Pictures, graph: Graph) -> None:
    pictures.add(encoded(drawn(20, 20)), "other.png")
    delete_document(graph, pictures.add(BOAT, "x.jpg"))
    away = pictures.folder.with_name("unmounted")

    class Unmounted(FileBlobStore):
        def delete(self, name: str) -> None:
            if pictures.folder.exists():
                pictures.folder.rename(away)
            super().delete(name)

    with pytest.raises(Unavailable):
        StoredFiles(graph, Unmounted(pictures.folder)).collect()
    away.rename(pictures.folder)
    assert (pictures.collect(), pictures.files) == (2, 2)


@pytest.mark.parametrize("review", [False, True])
def test_hold_of_another_request_is_not_reused(pictures: Pictures, graph: Graph, *, review: bool) -> None:
    """The files have been deleted, and you cannot rely on another process to write them again."""
    made = pictures.record(BOAT, "x.jpg", review=review)
    graph.write("blobs/hold", hold_id=made.hold, keys=[], seconds=-1)
    assert pictures.collect() == 2
    hold_blobs(
        graph, [compute_blob_key(BOAT), made.sources[0].image.thumbnail_key if made.sources[0].image else ""]
    )
    with pytest.raises(Conflict, match="Send the document again"):
        store_document(graph, made)


@pytest.mark.parametrize("content", [b"", b"what is no picture", None], ids=["empty", "other", "same size"])
def test_ingesting_again_repairs_a_damaged_file(pictures: Pictures, content: bytes | None) -> None:
    pictures.add(BOAT, "boat.jpg")
    pictures.damage(BOAT)
    for path in pictures.paths(BOAT) if content is not None else ():
        path.write_bytes(content or b"")
    with pytest.raises(FileLost, match="damaged"):
        pictures.read(compute_blob_key(BOAT))
    made = pictures.record(BOAT, "boat.jpg")
    assert store_document(pictures.graph, made).change.change == "unchanged"
    assert pictures.read(compute_blob_key(BOAT)) == BOAT


def test_deletion_removes_some_files_and_defers_others(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    kept = pictures.record(BOAT, "boat.jpg", review=True)
    store_document(graph, kept)
    held = pictures.record(encoded(drawn(20, 20)), "held.png")
    graph.write("blobs/hold", hold_id="dead", keys=[f"{at:064x}" for at in range(1200)], seconds=-1)
    left = "MATCH (b:LooseBlob) RETURN count(b) AS left"
    assert pictures.stored.collect_some(100) == 100
    assert rows(driver, left) == [{"left": 1104}]
    pictures.stored.collect_after_delete()
    assert rows(driver, left) == [{"left": 1004}]
    assert pictures.collect() == 1000
    assert (rows(driver, left), pictures.files) == ([{"left": 4}], 4)
    assert rows(driver, "MATCH (h:BlobHold {hold_id: 'dead'}) RETURN h") == []
    store_document(graph, held)
    assert (pictures.stored.collect_some(2), rows(driver, left)) == (0, [{"left": 2}])  # those that wait


def test_concurrent_adding_deleting_and_collecting_loses_no_file(pictures: Pictures, graph: Graph) -> None:
    ended = threading.Event()
    rounds, writers, collectors = 12, 4, 2

    def come_and_go(number: int) -> None:
        for _ in range(rounds):
            identity = pictures.add(BOAT, f"{number}.jpg")
            place = find_source(graph, f"notes/{number}.jpg#0")
            assert pictures.read(find_image(graph, place.source_id).storage_key) == BOAT
            delete_document(graph, identity)

    def collect() -> int:
        collected = 0
        while not ended.is_set():
            collected += pictures.collect()
        return collected

    with ThreadPoolExecutor(writers + collectors) as threads:
        collecting = [threads.submit(collect) for _ in range(collectors)]
        coming = [threads.submit(come_and_go, number) for number in range(writers)]
        try:
            for each in coming:
                each.result(120)
        finally:
            ended.set()
        for each in collecting:
            each.result(60)
    pictures.collect()
    assert pictures.files == 0
    assert graph.read("blobs/loose", after="", limit=10) == []


PDF = pdf_of_pages(3)
ORIGINALS = "MATCH (d:Document)-[:ORIGINAL]->(b:Blob) RETURN d.document AS name, b.key AS key"


def originals(driver: neo4j.Driver) -> dict[str, str]:
    return {row["name"]: row["key"] for row in rows(driver, ORIGINALS)}


def test_pdf_file_is_stored_once_and_follows_its_document(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    one, other = pictures.add(PDF, "a.pdf"), pictures.add(PDF, "b.pdf")
    key, again = compute_blob_key(PDF), PDF + b"\n% saved again"
    assert (originals(driver), pictures.read(key)) == ({"a.pdf": key, "b.pdf": key}, PDF)
    delete_document(graph, other)
    assert pictures.collect() == 0
    assert store_document(graph, pictures.record(again, "a.pdf")).change.change == "updated"
    assert originals(driver) == {"a.pdf": compute_blob_key(again)}
    assert pictures.collect() == 1
    made = pictures.record(again, "a.pdf")
    store_document(graph, replace(made, original=None, content_hash="without its file"))
    assert (originals(driver), pictures.collect()) == ({}, 1)
    pictures.add(again, "a.pdf")
    delete_document(graph, one)
    assert pictures.collect() == 1


def test_pending_pdf_keeps_its_file_until_rejected(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    for name in ("a.pdf", "b.pdf"):
        made = pictures.record(PDF, name, review=True)
        for _ in range(2):  # kg repeats a transaction if the response to its commit is lost
            assert store_document(graph, made).change.change == "waiting"
    assert (originals(driver), pictures.collect()) == ({}, 0)
    service = ReviewService(graph, lambda *_: None)
    approved = service.approve(Approval(ontology="notes", documents=["a.pdf"]))
    assert [each.problem for each in approved.outcomes] == [None]
    assert originals(driver) == {"a.pdf": compute_blob_key(PDF)}
    delete_document(graph, build_document_id("notes", "a.pdf"))
    assert pictures.collect() == 0
    reject_waiting(graph, "notes", ["b.pdf"], limit=10)
    assert pictures.collect() == 1
