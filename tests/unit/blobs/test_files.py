from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kg_api.blobs import store as files
from kg_api.blobs.store import FileBlobStore, compute_blob_key, format_blob_name
from kg_api.errors import FileLost, FileStoreFull


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def put(store: FileBlobStore, content: bytes) -> str:
    name = format_blob_name(compute_blob_key(content), "0123456789abcdef" * 2)
    store.put(name, content)
    return name


def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    name = put(store, b"picture")
    path = tmp_path / "blobs" / name[:2] / name
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damaged", [b"", b"pict", b"PICTURE"])
def test_damaged_file_is_rejected_and_stored_again(tmp_path: Path, damaged: bytes) -> None:
    store = FileBlobStore(tmp_path)
    name = put(store, b"picture")
    (tmp_path / name[:2] / name).write_bytes(damaged)
    with pytest.raises(FileLost, match="damaged"):
        store.read(name)
    put(store, b"picture")
    assert store.read(name) == b"picture"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = FileBlobStore(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileStoreFull, match="free some space"):
        put(store, b"picture")
    assert kept(tmp_path) == []


def test_unfinished_files_of_dead_processes_are_swept(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path)
    name = put(store, b"picture")
    (tmp_path / name[:2] / f"{files._BEING_WRITTEN}x").write_bytes(b"half")
    assert store.delete_partial_files() == 0
    assert store.delete_partial_files(older_than=-1) == 1
    assert kept(tmp_path) == [name]
