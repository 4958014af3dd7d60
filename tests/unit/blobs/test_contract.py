import errno
import os
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from kg_api.blobs import images
from kg_api.blobs import store as files
from kg_api.blobs.images import StoredFiles
from kg_api.blobs.s3 import S3BlobStore, open_bucket
from kg_api.blobs.store import BlobStore, FileBlobStore, compute_blob_key, open_blobs
from kg_api.errors import FileLost, FileStoreFull, NotFound, Unavailable
from kg_api.graph.client import Graph
from kg_api.settings import BlobSettings, S3Settings
from tests.support.s3_server import BUCKET, KEY_ID, REGION, SECRET, Bucket, s3_server

GENERATION = "0123456789abcdef" * 2


def put(store: BlobStore, content: bytes, generation: str = GENERATION) -> str:
    name = f"{compute_blob_key(content)}-{generation}"
    store.put(name, content)
    return name


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with s3_server() as served:
        yield served


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobStore]:
    settings = BlobSettings()
    if request.param == "bucket":
        url = request.getfixturevalue("bucket").url
        asked = S3Settings(bucket=BUCKET, endpoint=url, region=REGION, prefix="kg", seconds=5)
        settings = BlobSettings(s3=asked)
    yield open_blobs(settings, tmp_path / "blobs")
    assert request.param == "folder" or not (tmp_path / "blobs").exists()


@pytest.mark.parametrize("content", [b"picture", b"", b"\x00\xff" * 100_000], ids=["small", "empty", "large"])
def test_stored_content_is_read_by_name(store: BlobStore, content: bytes) -> None:
    name = f"{compute_blob_key(content)}-{GENERATION}"
    for new in (True, False):
        assert store.put(name, content) is new
        assert store.read(name) == content


def test_each_generation_is_deleted_separately(store: BlobStore) -> None:
    names = [put(store, b"picture", each) for each in (GENERATION, "f" * 32)]
    for at, name in enumerate(names):
        store.delete(name)
        for left in names[at + 1 :]:
            assert store.read(left) == b"picture"


def test_complete_content_is_no_partial_file(store: BlobStore) -> None:
    name = put(store, b"picture")
    assert store.delete_partial_files() == 0
    assert store.read(name) == b"picture"


def test_deleted_content_is_missing_and_deletion_repeats(store: BlobStore) -> None:
    name, other = put(store, b"picture"), put(store, b"another")
    store.delete(name)
    store.delete(name)
    with pytest.raises(NotFound, match="is missing"):
        store.read(name)
    assert store.read(other) == b"another"


@pytest.mark.parametrize("damaged", [b"", b"pict", b"PICTURE"])
def test_damaged_content_is_rejected_and_stored_again(
    store: BlobStore, tmp_path: Path, bucket: Bucket, damaged: bytes
) -> None:
    name = put(store, b"picture")
    if isinstance(store, FileBlobStore):
        (tmp_path / "blobs" / name[:2] / name).write_bytes(damaged)
    else:
        bucket.objects[f"kg/{name}"] = damaged
    with pytest.raises(FileLost, match="damaged"):
        store.read(name)
    assert store.put(name, b"picture")
    assert store.read(name) == b"picture"


@pytest.mark.parametrize(
    "name",
    [
        *("", "../secret", "a" * 63, "A" * 64, "/etc/passwd", f"{'a' * 64}\n", "../" + "a" * 64),
        *("a" * 64 + tail for tail in ("?x", "-", "-" + "A" * 32, "-" + "a" * 31, "/" + "a" * 32)),
    ],
)
def test_invalid_names_are_rejected(store: BlobStore, name: str) -> None:
    for ask in (store.read, store.delete, lambda name: store.put(name, b"")):
        with pytest.raises(NotFound):
            ask(name)


def test_many_writers_of_one_content_make_one(store: BlobStore) -> None:
    content = os.urandom(200_000)
    with ThreadPoolExecutor(8) as threads:
        names = set(threads.map(lambda _: put(store, content), range(32)))
    assert store.read(names.pop()) == content
    assert not names


def test_unusable_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    closed = S3Settings(bucket=BUCKET, endpoint="http://127.0.0.1:9", seconds=1)
    for settings in (BlobSettings(folder=tmp_path / "blobs"), BlobSettings(s3=closed)):
        with pytest.raises(Unavailable, match="cannot be kept") as raised:
            put(open_blobs(settings, tmp_path), b"picture")
        assert str(tmp_path) not in str(raised.value)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    name = put(store, b"picture")
    path = tmp_path / "blobs" / name[:2] / name
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


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
    (tmp_path / name[:2] / f"{files._BEING_WRITTEN}y").write_bytes(b"half")
    for age, removed in ((23.9, 0), (24.1, 1)):
        then = time.time() - age * 3600
        os.utime(tmp_path / name[:2] / f"{files._BEING_WRITTEN}x", (then, then))
        assert store.delete_partial_files() == removed
    assert store.delete_partial_files(older_than=-1) == 1
    assert kept(tmp_path) == [name]


def test_store_of_another_database_is_rejected_for_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str | None] = []

    class Store(FileBlobStore):
        def identity(self) -> str | None:
            looked.append(super().identity())
            return looked[-1]

    store, clock, nothing = Store(tmp_path), [1000.0], cast("Graph", None)
    monkeypatch.setattr(images, "get_known_store", lambda _: "ours")
    monkeypatch.setattr(images, "sample_blob_names", lambda *_: ["lost"])
    monkeypatch.setattr(images.time, "monotonic", lambda: clock[0])
    kept_files = StoredFiles(nothing, store)
    for later, looks in ((0, 3), (4.9, 4), (0.2, 7)):
        clock[0] += later
        with pytest.raises(Unavailable, match="Mount the storage"):
            kept_files.has_all(["lost"])
        assert len(looked) == looks
    store.mark("ours")
    name = put(store, b"picture")
    assert [kept_files.has_all(names) for names in ([], [name], [name, "lost"])] == [True, True, False]


NAME = f"{compute_blob_key(b'picture')}-{GENERATION}"
Open = Callable[..., S3BlobStore]


@pytest.fixture
def opened(bucket: Bucket) -> Open:
    def opened(**other: Any) -> S3BlobStore:
        usual = {"bucket": BUCKET, "endpoint": bucket.url, "region": REGION, "seconds": 2}
        return open_bucket(S3Settings.model_validate({**usual, **other}))

    return opened


@pytest.mark.parametrize(("prefix", "where"), [("", ""), ("kg", "kg/"), ("kg/", "kg/"), ("a/b", "a/b/")])
def test_an_object_is_put_once_below_the_prefix(
    bucket: Bucket, opened: Open, prefix: str, where: str
) -> None:
    store = opened(prefix=prefix)
    store.put(NAME, b"picture")
    store.put(NAME, b"picture")
    assert bucket.objects == {f"{where}{NAME}": b"picture"}
    path = f"/{BUCKET}/{where}{NAME}"
    assert bucket.asked == [f"GET {path}", f"PUT {path}", f"GET {path}"]


def everything_told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    ("answer", "raised", "told"),
    [
        ((403, "AccessDenied"), Unavailable, "AWS_ACCESS_KEY_ID"),
        ((401, "Unauthorized"), Unavailable, "AWS_ACCESS_KEY_ID"),
        ((400, "InvalidRequest"), Unavailable, "does not respond correctly"),
        ((503, "SlowDown"), Unavailable, "does not respond correctly"),
        ((507, "XMinioStorageFull"), FileStoreFull, "free some space"),
        ((302, "Found"), Unavailable, "does not respond correctly"),
    ],
)
def test_store_errors_are_reported_without_secrets(
    bucket: Bucket, opened: Open, answer: tuple[int, str], raised: type[Exception], told: str
) -> None:
    store = opened(seconds=1, prefix="507")
    bucket.failing = answer
    for ask in (lambda: store.put(NAME, b"picture"), lambda: store.read(NAME), lambda: store.delete(NAME)):
        with pytest.raises(raised, match=told) as caught:
            ask()
        assert SECRET not in everything_told(caught.value)
        assert KEY_ID not in everything_told(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("bucket", value) for value in ("ab", "Bucket", "a/b", "-ab", "s3://bucket")),
        *(
            ("endpoint", value)
            for value in ("s3.example", "ftp://x", "https://key:secret@x", "https://x?a=b")
        ),
        *(("prefix", value) for value in ("/kg", "a//b", "a b", "kg?x")),
    ],
)
def test_redirecting_settings_are_rejected(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        S3Settings.model_validate({name: value})
