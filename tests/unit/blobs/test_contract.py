"""What every store of blobs does: the folder, and the bucket of a server that checks signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kg_api.api_settings import BlobSettings, S3Settings
from kg_api.blobs.open import open_blobs
from kg_api.blobs.port import BlobStore, key_of
from kg_api.errors import NotFound, Unavailable
from tests.support.s3_server import BUCKET, KEY_ID, REGION, SECRET, s3_server


@pytest.fixture(params=["folder", "bucket"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BlobStore]:
    if request.param == "folder":
        yield open_blobs(BlobSettings(), tmp_path / "blobs")
        return
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with s3_server() as bucket:
        asked = S3Settings(bucket=BUCKET, endpoint=bucket.url, region=REGION, prefix="kg", seconds=5)
        yield open_blobs(BlobSettings(s3=asked), tmp_path / "blobs")
    assert not (tmp_path / "blobs").exists()


@pytest.mark.parametrize("content", [b"picture", b"", b"\x00\xff" * 100_000], ids=["small", "empty", "large"])
def test_what_is_put_is_read_by_the_hash_of_its_content(store: BlobStore, content: bytes) -> None:
    key = store.put(content)
    assert key == key_of(content)
    assert store.read(key) == content
    assert store.put(content) == key
    assert store.read(key) == content


def test_what_is_deleted_has_gone_and_may_be_deleted_again(store: BlobStore) -> None:
    key, other = store.put(b"picture"), store.put(b"another")
    store.delete(key)
    store.delete(key)
    with pytest.raises(NotFound, match="not there any more"):
        store.read(key)
    assert store.read(other) == b"another"
    assert store.put(b"picture") == key
    assert store.read(key) == b"picture"


@pytest.mark.parametrize(
    "key",
    ["", "../secret", "a" * 63, "A" * 64, "/etc/passwd", f"{'a' * 64}\n", "../" + "a" * 64, "a" * 64 + "?x"],
)
def test_what_is_no_key_is_nothing(store: BlobStore, key: str) -> None:
    for ask in (store.read, store.delete):
        with pytest.raises(NotFound):
            ask(key)


def test_many_writers_of_one_content_make_one(store: BlobStore) -> None:
    content = os.urandom(200_000)
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(store.put, [content] * 32))
    assert store.read(keys.pop()) == content
    assert not keys


def test_sweeping_leaves_what_is_kept(store: BlobStore) -> None:
    key = store.put(b"picture")
    assert store.sweep() == 0
    assert store.read(key) == b"picture"


def test_a_store_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    closed = S3Settings(bucket=BUCKET, endpoint="http://127.0.0.1:9", seconds=1)
    for settings in (BlobSettings(folder=tmp_path / "blobs"), BlobSettings(s3=closed)):
        with pytest.raises(Unavailable, match="cannot be kept"):
            open_blobs(settings, tmp_path).put(b"picture")
