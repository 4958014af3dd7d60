"""Pictures in the graph: one file for the same picture, kept as long as somebody uses it and no longer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore, key_of
from kg_api.errors import Conflict, FileLost, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document, store_documents
from kg_api.graph.images import find_image, hold_blobs, list_images, lose_blob
from kg_api.graph.library import change_called, find_source, neighbours
from kg_api.graph.review import reject_waiting
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import ReviewService
from kg_api.schemas.documents import Approval, DocumentChange
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess, Pictures
from tests.support.records import record
from tests.support.sync import EVERYWHERE, LARGEST, counts, follow, scan, settle

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(30, 90))


@pytest.fixture
def pictures(graph: Graph, tmp_path: Path) -> Pictures:
    return Pictures(graph, tmp_path / "blobs")


def labels(graph: Graph) -> int:
    return list_images(graph, ontology=None, offset=0, limit=10).total


def test_the_same_picture_twice_is_one_file_and_two_nodes(pictures: Pictures, graph: Graph) -> None:
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


def test_the_same_picture_is_a_duplicate_whatever_its_name_and_others_are_none(
    pictures: Pictures, graph: Graph
) -> None:
    pictures.add(BOAT, "a/Red boat.jpg")
    same = replace(pictures.record(BOAT, "b/boat.png"), skip_duplicate=True)
    other = replace(pictures.record(PLAN, "a/red-boat.png"), skip_duplicate=True)
    told = store_documents(graph, [same, other])
    assert [(each.change.change, each.change.same_text) for each in told] == [
        ("skipped", ("a/Red boat.jpg",)),
        ("created", ()),
    ]


def test_a_picture_is_found_by_what_is_said_of_it(pictures: Pictures, graph: Graph) -> None:
    reader = DocumentReader(InThisProcess(), ImageKeeper(pictures.stored))
    said = {"description": "Pebbles at\nthe seaside", "caption": "Pebbles", "camera": "A7"}
    given = Incoming("notes", "IMG_9.jpg", "", title="Pebbles", metadata={**said})
    store_document(graph, to_record(reader.from_bytes(BOAT, given)[0])[0])
    (stored,) = list_images(graph, ontology="notes", offset=0, limit=10).images
    assert stored.full_text.splitlines() == ["IMG 9", "Pebbles", "Pebbles at the seaside"]
    changed = change_called(graph, "IMG_9.jpg", DocumentChange(title="Shells"))
    assert "ingest it again" in changed.notes[0]
    assert change_called(graph, "IMG_9.jpg", DocumentChange(uri="file:///x")).notes == []


def test_a_picture_is_told_as_one_wherever_its_source_is(pictures: Pictures, graph: Graph) -> None:
    pictures.add(BOAT, "boat.jpg")
    store_document(graph, record("text", ["a passage"]))
    (place,) = list_images(graph, ontology=None, offset=0, limit=10).images
    assert place.kind == "image"
    assert place.image is not None
    assert (place.image.content_type, place.image.width, place.image.height) == ("image/jpeg", 64, 48)
    assert place.image.bytes == len(BOAT)
    assert find_source(graph, place.source_id) == place
    assert neighbours(graph, [place], 1)[place.source_id] == [place]
    keys = find_image(graph, place.source_id[:8])
    assert pictures.read(keys.storage_key) == BOAT
    assert pictures.read(keys.thumbnail_key)[8:12] == b"WEBP"
    with pytest.raises(NotFound, match="not a picture"):
        find_image(graph, find_source(graph, "notes/text#0").source_id)


def test_another_picture_under_the_same_name_takes_its_place(pictures: Pictures, graph: Graph) -> None:
    pictures.add(BOAT, "x.jpg")
    pictures.collect()
    before = list_images(graph, ontology=None, offset=0, limit=10).images[0]
    pictures.add(PLAN, "x.jpg")
    after = list_images(graph, ontology=None, offset=0, limit=10).images[0]
    assert after.source_id == before.source_id  # it says the same words
    assert after.image is not None
    assert (after.image.content_type, after.image.height) == ("image/png", 90)
    assert (pictures.collect(), pictures.files) == (2, 2)


def test_what_is_no_picture_any_more_is_a_passage(pictures: Pictures, graph: Graph) -> None:
    made = pictures.record(BOAT, "x.jpg")
    store_document(graph, made)
    sources = tuple(replace(each, image=None) for each in made.sources)
    store_document(graph, replace(made, content_hash="other", sources=sources))
    assert labels(graph) == 0
    assert find_source(graph, sources[0].source_id).kind == "passage"
    assert (pictures.collect(), pictures.files) == (2, 0)


def test_two_pictures_that_have_the_same_words_are_not_the_same(pictures: Pictures) -> None:
    one = pictures.record(BOAT, "1.jpg")
    other = replace(pictures.record(PLAN, "1.jpg"), document_id="other")
    assert [each.full_text for each in one.sources] == [each.full_text for each in other.sources]
    assert one.text_hash != other.text_hash


def test_what_is_held_stays_until_its_hold_ends(pictures: Pictures, graph: Graph) -> None:
    pictures.record(BOAT, "x.jpg")
    assert (pictures.collect(), pictures.files) == (0, 2)
    graph.write("blobs/hold", hold_id="of a process that died", keys=["a" * 64], seconds=-1)
    assert pictures.collect() == 1
    assert pictures.files == 2


def test_what_is_stored_too_late_is_refused_and_can_be_sent_again(pictures: Pictures, graph: Graph) -> None:
    made = pictures.record(BOAT, "x.jpg")
    hold_blobs(graph, [], 0)
    assert made.hold
    graph.write("blobs/hold", hold_id=made.hold, keys=[], seconds=-1)
    assert (pictures.collect(), pictures.files) == (2, 0)
    with pytest.raises(Conflict, match="send it again"):
        store_document(graph, made)
    assert labels(graph) == 0
    pictures.add(BOAT, "x.jpg")
    assert (labels(graph), pictures.files) == (1, 2)


def test_what_waits_for_approval_keeps_its_files(pictures: Pictures, graph: Graph) -> None:
    for name in ("x.jpg", "y.jpg"):
        store_document(graph, pictures.record(BOAT, name, review=True))
    assert (labels(graph), pictures.collect(), pictures.files) == (0, 0, 2)
    reject_waiting(graph, "notes", ["y.jpg"], limit=10)
    assert (pictures.collect(), pictures.files) == (0, 2)
    approved = ReviewService(graph, lambda *_: None).approve(Approval(ontology="notes", documents=["x.jpg"]))
    assert approved.outcomes[0].problem is None
    assert (labels(graph), pictures.collect(), pictures.files) == (1, 0, 2)
    delete_document(graph, pictures.record(PLAN, "x.jpg").document_id)
    assert pictures.collect() == 2


def test_a_followed_folder_brings_a_lost_file_again(pictures: Pictures, graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "boat.jpg").write_bytes(BOAT)
    settle(folder)
    followed = follow(graph, folder, "photos")
    handler = FolderSync(
        graph, EVERYWHERE, LARGEST, DocumentReader(InThisProcess(), ImageKeeper(pictures.stored)), None
    )
    assert counts(scan(graph, followed, handler=handler)) == {"added": 1}
    pictures.damage(BOAT)
    assert counts(scan(graph, followed, handler=handler)) == {"unchanged": 1}
    with pytest.raises(FileLost, match="damaged"):
        pictures.read(key_of(BOAT))
    assert counts(scan(graph, followed, handler=handler)) == {"unchanged": 1}
    assert pictures.read(key_of(BOAT)) == BOAT


def test_a_file_that_was_lost_before_anything_used_it_can_be_lost_again(
    pictures: Pictures, driver: neo4j.Driver
) -> None:
    pictures.stored.keep([BOAT])
    pictures.lose(BOAT)
    with pytest.raises(FileLost):
        pictures.read(key_of(BOAT))
    pictures.add(BOAT, "boat.jpg")
    assert rows(driver, "MATCH (b:Blob) WHERE b.lost RETURN b.key AS key") == []


class Missed(FileBlobStore):
    """Somebody looks for each file just before it is written, and says that it is lost."""

    def __init__(self, graph: Graph, folder: Path) -> None:
        super().__init__(folder)
        self._graph = graph

    def put(self, name: str, content: bytes) -> bool:
        lose_blob(self._graph, key_of(content))
        return super().put(name, content)


def test_a_file_that_was_missed_until_it_was_written_is_not_lost(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    StoredFiles(graph, Missed(graph, pictures.folder)).keep([BOAT])
    assert rows(driver, "MATCH (b:Blob) RETURN b.key AS key, b.lost AS lost") == [
        {"key": key_of(BOAT), "lost": None}
    ]


def test_documents_of_one_batch_share_a_picture(pictures: Pictures, graph: Graph) -> None:
    made = [pictures.record(BOAT, f"{number}.jpg") for number in range(20)]
    store_documents(graph, made)
    assert (labels(graph), pictures.files) == (20, 2)
    assert pictures.collect() == 0
