from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.blobs import store
from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.graph.client import Graph
from kg_api.graph.folders import find_folder, request_scan
from kg_api.graph.images import list_images
from kg_api.ingest import folder_listing
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.service import ReviewService
from kg_api.schemas.documents import Approval
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.sync import EVERYWHERE, LARGEST, READER, counts, documents, follow, put, scan, settle, work

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(40, 90), "JPEG")
NOTE = "# Harbour\n\nThe harbour.\n\n![A red boat](../img/boat.jpg)\n\nThe end.\n"
PAGE = '<main><p>The harbour.</p><img alt="A red boat" src="img/boat.jpg"></main>'
"""Text and web page with references to the same images."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, docs__note=NOTE, other="No pictures.\n")
    (folder / "page.html").write_text(PAGE)
    (folder / ".img").mkdir()
    (folder / "img").mkdir()
    (tmp_path / "outside.jpg").write_bytes(BOAT)
    return folder


class Followed:
    """Folder that is scanned as it would be by a worker, with a store for its files."""

    def __init__(self, graph: Graph, folder: Path, blobs: Path) -> None:
        self.graph, self.folder, self.blobs = graph, folder, blobs
        self.files = StoredFiles(graph, FileBlobStore(blobs))
        reader = DocumentReader(READER.converters, ImageKeeper(self.files))
        self.handler = FolderSync(graph, EVERYWHERE, LARGEST, reader)
        self.id = follow(graph, folder)

    def scan(self) -> dict[str, int]:
        return counts(scan(self.graph, self.id, handler=self.handler))

    def shown(self) -> dict[str, tuple[int, int]]:
        page = list_images(self.graph, ontology=None, offset=0, limit=100)
        return {each.document: (each.image.width, each.image.height) for each in page.images if each.image}


@pytest.fixture
def followed(graph: Graph, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    settle(monkeypatch)
    return Followed(graph, folder, tmp_path / "blobs")


def test_image_follows_added_changed_and_deleted_documents(followed: Followed, folder: Path) -> None:
    boat = folder / "img" / "boat.jpg"
    assert followed.scan() == {"added": 3}
    assert followed.shown() == {}
    boat.write_bytes(BOAT)
    assert followed.scan() == {"added": 1, "changed": 2, "unchanged": 1}
    assert followed.shown() == dict.fromkeys(("docs/note.md", "page.html", "img/boat.jpg"), (64, 48))
    assert documents(followed.graph)["docs/note.md"] == NOTE
    assert followed.scan() == {"unchanged": 4}

    boat.write_bytes(PLAN)
    assert followed.scan() == {"changed": 3, "unchanged": 1}
    assert set(followed.shown().values()) == {(40, 90)}

    boat.unlink()
    (folder / "docs" / "note.md").unlink()
    assert followed.scan() == {"changed": 1, "removed": 2, "unchanged": 1}
    assert followed.shown() == {}
    followed.files.delete_unused()
    assert not [path for path in followed.blobs.rglob("*/*") if path.is_file()]


def test_repaired_image_is_stored(followed: Followed, folder: Path) -> None:
    boat = folder / "img" / "boat.jpg"
    boat.write_bytes(BOAT[:200])
    assert followed.scan() == {"added": 3, "refused": 1}
    assert followed.shown() == {}
    boat.write_bytes(BOAT)
    assert followed.scan() == {"added": 1, "changed": 2, "unchanged": 1}
    assert followed.shown()["docs/note.md"] == (64, 48)


def test_while_nothing_changes_no_file_is_read(
    followed: Followed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "img" / "boat.jpg").write_bytes(BOAT)
    followed.scan()

    def refuse(*_: Any) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(folder_listing, "read_settled", refuse)
    monkeypatch.setattr(folder_listing, "list_file_references", refuse)
    assert followed.scan() == {"unchanged": 4}


def test_nothing_is_taken_from_outside_of_the_folder(followed: Followed, folder: Path) -> None:
    outside = ("../../outside.jpg", "../img/link.jpg", "../img/away/outside.jpg", "../.img/boat.jpg")
    named = "\n\n".join(f"![A boat]({each})" for each in (*outside, "/etc/hostname"))
    put(folder, docs__note=f"A note.\n\n{named}\n")
    (folder / ".img" / "boat.jpg").write_bytes(BOAT)
    (folder / "img" / "link.jpg").symlink_to(folder.parent / "outside.jpg")
    (folder / "img" / "away").symlink_to(folder.parent)
    followed.scan()
    assert followed.shown() == {}


def test_image_still_being_written_is_pending(
    followed: Followed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boat = folder / "img" / "boat.jpg"
    boat.write_bytes(BOAT)
    real = folder_listing.read_settled

    def read(path: Path, most: int) -> Any:
        found = real(path, most)
        os.utime(path)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(folder_listing, "read_settled", read)
        assert followed.scan()["postponed"] == 2
    assert followed.scan()["added"] == 2
    assert followed.shown()["docs/note.md"] == (64, 48)


def make_due(driver: neo4j.Driver) -> None:
    """Let the jobs that wait for a retry run now."""
    rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = j.created_at, j.queued_at = j.created_at")


def test_unavailable_store_defers_images(
    followed: Followed, folder: Path, tmp_path: Path, driver: neo4j.Driver
) -> None:
    (folder / "img" / "boat.jpg").write_bytes(BOAT)
    followed.scan()
    followed.blobs.rename(tmp_path / "unmounted")
    (folder / "img" / "plan.jpg").write_bytes(PLAN)
    before = scan(followed.graph, followed.id, handler=followed.handler)
    assert counts(before) == {"added": 4}  # what the scan before did: this one has not ended
    (tmp_path / "unmounted").rename(followed.blobs)
    make_due(driver)
    work(followed.graph, handler=followed.handler)
    after = find_folder(followed.graph, followed.id)
    assert counts(after) == {"added": 1, "unchanged": 4}
    assert followed.shown()["img/plan.jpg"] == (40, 90)


def test_full_store_defers_images_without_blocking_others(
    followed: Followed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: neo4j.Driver
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (folder / "img" / "boat.jpg").write_bytes(BOAT)
    put(tmp_path / "other", note="Another folder.\n")
    other = follow(followed.graph, tmp_path / "other", prefix="other")
    with monkeypatch.context() as patched:
        patched.setattr(store, "write_whole", full)
        request_scan(followed.graph, followed.id)
        assert counts(scan(followed.graph, other, handler=followed.handler)) == {"added": 1}
    make_due(driver)
    work(followed.graph, handler=followed.handler)
    assert counts(find_folder(followed.graph, followed.id)) == {"added": 4}
    assert followed.shown()["img/boat.jpg"] == (64, 48)


def test_next_scan_reads_documents_with_missing_files(
    followed: Followed, folder: Path, driver: neo4j.Driver
) -> None:
    """Earlier versions did not read these documents again for an hour."""
    (folder / "img" / "boat.jpg").write_bytes(BOAT)
    rows(driver, "MATCH (f:Folder) SET f.review = true")
    assert followed.scan() == {"waiting": 4}
    rows(driver, "MATCH (w:WaitingDocument) SET w.blobs = []")
    assert followed.files.delete_unused() == 2
    review, every = ReviewService(followed.graph, lambda *_: None), Approval(ontology="notes", all=True)
    told = [each.problem.detail for each in review.approve(every).outcomes if each.problem]
    assert len(told) == 3
    assert all("scan its folder" in each for each in told)
    assert followed.scan() == {"waiting": 3, "unchanged": 1}
    assert all(each.problem is None for each in review.approve(every).outcomes)
    assert followed.shown() == dict.fromkeys(("docs/note.md", "page.html", "img/boat.jpg"), (64, 48))
