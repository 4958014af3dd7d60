"""Files that nothing uses any more go, however late a deletion comes, and no file that somebody uses."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.images import ImageService, StoredFiles
from kg_api.blobs.store import FileBlobStore, key_of
from kg_api.errors import Conflict, FileLost, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document, storing
from kg_api.graph.images import find_image, hold_blobs, list_images
from kg_api.graph.library import find_source
from kg_api.schemas.base import document_id
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.picture_store import Pictures

BOAT = encoded(drawn(64, 48), "JPEG")


@pytest.fixture
def pictures(graph: Graph, tmp_path: Path) -> Pictures:
    return Pictures(graph, tmp_path / "blobs")


class LateDeletes(FileBlobStore):
    """A store that does not answer a deletion in time, and carries it out later."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.late = list[str]()

    def delete(self, name: str) -> None:
        self.late.append(name)
        raise Unavailable("it did not answer in time")

    def carry_out(self) -> None:
        for name in self.late:
            super().delete(name)


def shown(pictures: Pictures) -> list[str]:
    """The documents of pictures, each with both files."""
    places = list_images(pictures.graph, ontology=None, offset=0, limit=10).images
    for each in places:
        keys = find_image(pictures.graph, each.source_id)
        assert pictures.read(keys.storage_key)
        assert pictures.read(keys.thumbnail_key)
    return [each.document for each in places]


def test_a_deletion_that_is_carried_out_late_hurts_nothing(pictures: Pictures, graph: Graph) -> None:
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


def test_a_folder_that_is_unmounted_while_files_are_deleted_keeps_them_known(
    pictures: Pictures, graph: Graph
) -> None:
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


def test_files_of_before_there_were_generations_are_read_used_and_collected(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    identity = pictures.add(BOAT, "x.jpg")
    for path in pictures.folder.rglob("*-*"):
        path.rename(path.with_name(path.name.partition("-")[0]))
    rows(driver, "MATCH (b:Blob) REMOVE b.generation")
    pictures.add(BOAT, "y.jpg")
    assert (shown(pictures), pictures.files, pictures.collect()) == (["x.jpg", "y.jpg"], 2, 0)
    for each in (identity, document_id("notes", "y.jpg")):
        delete_document(graph, each)
    store = LateDeletes(pictures.folder)
    with pytest.raises(Unavailable):
        StoredFiles(graph, store).collect()
    pictures.add(BOAT, "x.jpg")
    store.carry_out()
    assert shown(pictures) == ["x.jpg"]


def test_a_picture_that_comes_while_it_is_being_collected_waits_for_nobody(
    pictures: Pictures, graph: Graph
) -> None:
    """The collector has seen that nothing uses it, and is deleting the file, when it comes again."""
    delete_document(graph, pictures.add(BOAT, "x.jpg"))
    deleting, go_on = threading.Event(), threading.Event()

    class Slow(FileBlobStore):
        def delete(self, name: str) -> None:
            deleting.set()
            assert go_on.wait(30)
            super().delete(name)

    with ThreadPoolExecutor(1) as threads:
        collected = threads.submit(StoredFiles(graph, Slow(pictures.folder)).collect)
        assert deleting.wait(10)
        try:
            pictures.add(BOAT, "x.jpg")
        finally:
            go_on.set()
        assert collected.result(30) == 2
    assert shown(pictures) == ["x.jpg"]
    assert pictures.files == 2


@pytest.mark.parametrize("review", [False, True])
def test_what_others_hold_now_is_not_taken_for_what_was_held(
    pictures: Pictures, graph: Graph, *, review: bool
) -> None:
    """Its own files have gone; those that somebody else is about to write may never come."""
    made = pictures.record(BOAT, "x.jpg", review=review)
    graph.write("blobs/hold", hold_id=made.hold, keys=[], seconds=-1)
    assert pictures.collect() == 2
    hold_blobs(graph, [key_of(BOAT), made.sources[0].image.thumbnail_key if made.sources[0].image else ""])
    with pytest.raises(Conflict, match="send it again"):
        store_document(graph, made)


def test_a_transaction_that_runs_twice_lets_a_picture_wait_once(pictures: Pictures, graph: Graph) -> None:
    work = storing([pictures.record(BOAT, "x.jpg", review=True)])
    first, again = graph.transaction(work), graph.transaction(work)
    assert first[0].change == again[0].change
    assert pictures.collect() == 0


@pytest.mark.parametrize("content", [b"", b"what is no picture", None], ids=["empty", "other", "same size"])
def test_what_is_damaged_is_mended_by_ingesting_it_again(pictures: Pictures, content: bytes | None) -> None:
    pictures.add(BOAT, "boat.jpg")
    pictures.damage(BOAT)
    for path in pictures.paths(BOAT) if content is not None else ():
        path.write_bytes(content or b"")
    with pytest.raises(FileLost, match="damaged"):
        pictures.read(key_of(BOAT))
    made = pictures.record(BOAT, "boat.jpg")
    assert store_document(pictures.graph, made).change.change == "unchanged"
    assert pictures.read(key_of(BOAT)) == BOAT


def test_who_deletes_a_document_waits_for_some_files_and_the_others_go_later(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    kept = pictures.record(BOAT, "boat.jpg", review=True)
    store_document(graph, kept)
    held = pictures.record(encoded(drawn(20, 20)), "held.png")
    graph.write("blobs/hold", hold_id="dead", keys=[f"{at:064x}" for at in range(1200)], seconds=-1)
    left = "MATCH (b:LooseBlob) RETURN count(b) AS left"
    assert pictures.stored.collect_some(100) == 100
    assert rows(driver, left) == [{"left": 1104}]
    ImageService(graph, pictures.stored).collect_after_delete()
    assert rows(driver, left) == [{"left": 1004}]
    assert pictures.collect() == 1000
    assert (rows(driver, left), pictures.files) == ([{"left": 4}], 4)
    store_document(graph, held)
    assert (pictures.stored.collect_some(2), rows(driver, left)) == (0, [{"left": 2}])  # those that wait


def test_a_storm_of_adding_deleting_and_collecting_loses_no_file(pictures: Pictures, graph: Graph) -> None:
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
