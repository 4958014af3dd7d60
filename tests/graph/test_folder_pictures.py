from __future__ import annotations

from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.graph.client import Graph
from kg_api.graph.folders import find_folder
from kg_api.graph.images import list_images
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.reader import DocumentReader
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.sync import EVERYWHERE, LARGEST, READER, counts, follow, put, scan, settle, work

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(40, 90), "JPEG")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, other="No pictures.\n")
    (folder / "img").mkdir()
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
    assert counts(before) == {"added": 2}  # what the scan before did: this one has not ended
    (tmp_path / "unmounted").rename(followed.blobs)
    make_due(driver)
    work(followed.graph, handler=followed.handler)
    after = find_folder(followed.graph, followed.id)
    assert counts(after) == {"added": 1, "unchanged": 2}
    assert followed.shown()["img/plan.jpg"] == (40, 90)
