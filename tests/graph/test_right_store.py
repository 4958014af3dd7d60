"""A store of files that is not there, or is another one, is told from a file that is lost."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import MARKER, FileBlobStore, key_of
from kg_api.errors import FileLost, FileStoreFull, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document
from kg_api.graph.images import known_store
from tests.conftest import wipe
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.picture_store import Pictures

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(30, 90))
ANOTHER = "is not the one that has the files"


@pytest.fixture
def pictures(graph: Graph, tmp_path: Path) -> Pictures:
    return Pictures(graph, tmp_path / "blobs")


@pytest.fixture
def elsewhere(graph: Graph, tmp_path: Path) -> Pictures:
    """The same graph, and the folder that is there while the right one is not mounted."""
    (tmp_path / "elsewhere").mkdir()
    return Pictures(graph, tmp_path / "elsewhere")


def as_before_there_were_markers(pictures: Pictures, driver: neo4j.Driver) -> None:
    (pictures.folder / MARKER).unlink()
    rows(driver, "MATCH (s:BlobStore) DELETE s")


def test_the_first_store_that_is_used_is_the_one(pictures: Pictures, graph: Graph) -> None:
    assert known_store(graph) is None
    pictures.add(BOAT, "boat.jpg")
    marker = FileBlobStore(pictures.folder).identity()
    assert marker == known_store(graph) is not None
    pictures.add(PLAN, "plan.png")
    assert FileBlobStore(pictures.folder).identity() == known_store(graph) == marker


def test_nothing_is_kept_given_or_deleted_by_a_store_that_is_not_mounted(
    pictures: Pictures, elsewhere: Pictures, graph: Graph
) -> None:
    identity = pictures.add(BOAT, "boat.jpg")
    for ask in (lambda: elsewhere.add(PLAN, "plan.png"), lambda: elsewhere.read(key_of(BOAT))):
        with pytest.raises(Unavailable, match=ANOTHER):
            ask()
    delete_document(graph, identity)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.collect()
    assert [*elsewhere.folder.iterdir()] == []
    assert (pictures.collect(), pictures.files) == (2, 0)


def test_a_store_of_another_database_is_refused(pictures: Pictures, elsewhere: Pictures) -> None:
    FileBlobStore(elsewhere.folder).mark("of another")
    pictures.add(BOAT, "boat.jpg")
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.add(PLAN, "plan.png")
    assert elsewhere.files == 0


def test_a_store_of_before_is_known_by_its_files(
    pictures: Pictures, elsewhere: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    pictures.add(BOAT, "boat.jpg")
    as_before_there_were_markers(pictures, driver)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.add(PLAN, "plan.png")
    pictures.add(PLAN, "plan.png")
    assert FileBlobStore(pictures.folder).identity() == known_store(graph) is not None
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.read(key_of(BOAT))


def as_before_there_were_generations(pictures: Pictures, driver: neo4j.Driver) -> None:
    """Files are called by their hash alone, as the same ones are in any other store."""
    as_before_there_were_markers(pictures, driver)
    rows(driver, "MATCH (b:Blob) SET b.generation = null")
    for path in pictures.folder.rglob("*/*-*"):
        path.rename(path.with_name(path.name.partition("-")[0]))


@pytest.mark.parametrize("marked", [True, False])
def test_one_file_that_is_in_another_store_too_makes_it_not_theirs(
    pictures: Pictures, elsewhere: Pictures, driver: neo4j.Driver, marked: bool
) -> None:
    for content, name in ((BOAT, "boat.jpg"), (PLAN, "plan.png")):
        pictures.add(content, name)
    as_before_there_were_generations(pictures, driver)
    rows(driver, "UNWIND range(1, 9) AS n CREATE (:DeadBlob {key: right('0' + n, 1) + $rest})", rest="a" * 63)
    if marked:
        FileBlobStore(elsewhere.folder).mark("of another")
    (shared,) = pictures.paths(BOAT)
    (elsewhere.folder / shared.parent.name).mkdir()
    shutil.copy(shared, elsewhere.folder / shared.parent.name)
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.collect()
    with pytest.raises(Unavailable, match=ANOTHER):
        elsewhere.add(PLAN, "again.png")
    (pictures.folder / MARKER).unlink(missing_ok=True)
    pictures.add(PLAN, "again.png")
    assert pictures.read(key_of(BOAT)) == BOAT


def test_where_all_files_are_lost_somebody_says_so(pictures: Pictures, elsewhere: Pictures) -> None:
    pictures.add(BOAT, "boat.jpg")
    with pytest.raises(Unavailable, match=ANOTHER) as caught:
        elsewhere.add(BOAT, "boat.jpg")
    marker = str(caught.value).partition(" put ")[2].partition(" there as ")
    assert json.loads(marker[0])
    (elsewhere.folder / marker[2]).write_text(marker[0])
    with pytest.raises(FileLost):
        elsewhere.read(key_of(BOAT))
    elsewhere.add(BOAT, "boat.jpg")
    assert elsewhere.read(key_of(BOAT)) == BOAT


def test_a_marker_that_was_lost_is_made_again(pictures: Pictures, graph: Graph) -> None:
    pictures.add(BOAT, "boat.jpg")
    for content in (None, b"", b"{", b"[]", b'{"store": 1}'):
        (pictures.folder / MARKER).unlink()
        if content is not None:
            (pictures.folder / MARKER).write_bytes(content)
        pictures.add(PLAN, "plan.png")
        assert FileBlobStore(pictures.folder).identity() == known_store(graph)


def test_a_database_that_was_emptied_takes_the_store_that_there_is(
    pictures: Pictures, graph: Graph, driver: neo4j.Driver
) -> None:
    pictures.add(BOAT, "boat.jpg")
    before = known_store(graph)
    wipe(driver)
    pictures.add(PLAN, "plan.png")
    assert known_store(graph) == FileBlobStore(pictures.folder).identity() == before


def test_many_may_be_the_first(pictures: Pictures, graph: Graph, driver: neo4j.Driver) -> None:
    files = {f"{at}.png": encoded(drawn(20 + at, 30)) for at in range(12)}
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda name: pictures.add(files[name], name), files))
    assert rows(driver, "MATCH (s:BlobStore) RETURN s.store_id AS id") == [{"id": known_store(graph)}]
    assert FileBlobStore(pictures.folder).identity() == known_store(graph)


class Filling(FileBlobStore):
    """Has no room for its marker once."""

    full = True

    def mark(self, identity: str) -> None:
        if self.full:
            self.full = False
            raise FileStoreFull
        super().mark(identity)


def test_what_is_wrong_for_the_moment_is_told_as_it_is_and_not_remembered(
    pictures: Pictures, graph: Graph
) -> None:
    stored = StoredFiles(graph, Filling(pictures.folder))
    with pytest.raises(FileStoreFull):
        stored.keep([BOAT])
    stored.keep([BOAT])
    assert pictures.files == 1


class Counting(FileBlobStore):
    """Counts what is looked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.looked = 0

    def has(self, name: str) -> bool:
        self.looked += 1
        return super().has(name)


def test_a_wrong_store_is_looked_through_once_and_the_right_one_seen_at_once(
    pictures: Pictures, elsewhere: Pictures, graph: Graph
) -> None:
    pictures.add(BOAT, "boat.jpg")
    store = Counting(elsewhere.folder)
    stored = StoredFiles(graph, store)

    def refused() -> None:
        with pytest.raises(Unavailable, match=ANOTHER):
            stored.read(key_of(BOAT))

    with ThreadPoolExecutor(8) as threads:
        for each in [threads.submit(refused) for _ in range(50)]:
            each.result(30)
    assert store.looked == 2
    shutil.copytree(pictures.folder, elsewhere.folder, dirs_exist_ok=True)
    assert stored.read(key_of(BOAT)) == BOAT
    stored.keep([PLAN])
    assert store.looked == 2
