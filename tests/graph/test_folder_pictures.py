"""Pictures that files of a followed folder name: they come, change and go with their documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kg_api.blobs.files import FileBlobStore
from kg_api.graph.database import Graph
from kg_api.images.files import StoredFiles
from kg_api.images.keeping import StoringKeeper
from kg_api.images.service import ImageService
from kg_api.ingest.reading import DocumentReader
from kg_api.sync import pictures
from kg_api.sync.handler import FolderSync
from tests.support.images import drawn, encoded
from tests.support.sync import EVERYWHERE, LARGEST, READER, counts, documents, follow, put, scan, settle

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(40, 90), "JPEG")
NOTE = "# Harbour\n\nThe harbour.\n\n![A red boat](../img/boat.jpg)\n\nThe end.\n"
PAGE = '<main><p>The harbour.</p><img alt="A red boat" src="img/boat.jpg"></main>'
"""Both lie where a document of a followed folder does."""


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
    """A folder that is scanned as a worker does, with a store."""

    def __init__(self, graph: Graph, folder: Path, blobs: Path) -> None:
        self.graph, self.folder, self.blobs = graph, folder, blobs
        files = StoredFiles(graph, FileBlobStore(blobs))
        self.images = ImageService(graph, files)
        reader = DocumentReader(READER.converters, StoringKeeper(files))
        self.handler = FolderSync(graph, EVERYWHERE, LARGEST, reader)
        self.id = follow(graph, folder)

    def scan(self) -> dict[str, int]:
        settle(self.folder)
        return counts(scan(self.graph, self.id, handler=self.handler))

    def shown(self) -> dict[str, tuple[int, int]]:
        """By document, the size of its picture."""
        page = self.images.page(ontology=None, offset=0, limit=100)
        return {each.document: (each.image.width, each.image.height) for each in page.images if each.image}


@pytest.fixture
def followed(graph: Graph, folder: Path, tmp_path: Path) -> Followed:
    return Followed(graph, folder, tmp_path / "blobs")


def test_a_picture_comes_changes_and_goes_with_its_documents(followed: Followed, folder: Path) -> None:
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
    followed.images.tidy()
    assert not [path for path in followed.blobs.rglob("*/*") if path.is_file()]


def test_a_picture_that_was_broken_is_taken_when_it_is_mended(followed: Followed, folder: Path) -> None:
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

    monkeypatch.setattr(pictures, "read_settled", refuse)
    monkeypatch.setattr(pictures, "references_in", refuse)
    assert followed.scan() == {"unchanged": 4}


@pytest.mark.parametrize(
    "reference",
    ["../../outside.jpg", "../img/link.jpg", "../img/away/outside.jpg", "../.img/boat.jpg", "/etc/hostname"],
)
def test_nothing_is_taken_from_outside_of_the_folder(
    followed: Followed, folder: Path, reference: str
) -> None:
    put(folder, docs__note=f"A note.\n\n![A boat]({reference})\n")
    (folder / ".img" / "boat.jpg").write_bytes(BOAT)
    (folder / "img" / "link.jpg").symlink_to(folder.parent / "outside.jpg")
    (folder / "img" / "away").symlink_to(folder.parent)
    followed.scan()
    assert followed.shown() == {}


def test_a_picture_that_is_being_written_is_waited_for(
    followed: Followed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boat = folder / "img" / "boat.jpg"
    boat.write_bytes(BOAT)
    real = pictures.read_settled

    def read(path: Path, most: int) -> Any:
        found = real(path, most)
        os.utime(path)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(pictures, "read_settled", read)
        assert followed.scan()["postponed"] == 2
    assert followed.scan()["added"] == 2
    assert followed.shown()["docs/note.md"] == (64, 48)
