from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from kg_api.blobs.s3 import S3BlobStore, open_bucket
from kg_api.blobs.store import compute_blob_key, format_blob_name, open_blobs
from kg_api.errors import ConfigurationError, FileLost, FileStoreFull, NotFound, Unavailable
from kg_api.settings import BlobSettings, S3Settings
from tests.support.s3_server import BUCKET, KEY_ID, REGION, SECRET, Bucket, s3_server

NAME = format_blob_name(compute_blob_key(b"picture"), "0123456789abcdef" * 2)
Open = Callable[..., S3BlobStore]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with s3_server() as served:
        yield served


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


@pytest.mark.parametrize("damaged", [b"pict", b"", b"PICTURE"])
def test_damaged_object_is_rejected_and_stored_again(bucket: Bucket, opened: Open, damaged: bytes) -> None:
    bucket.objects[NAME] = damaged
    with pytest.raises(FileLost, match="damaged"):
        opened().read(NAME)
    assert opened().put(NAME, b"picture")
    assert bucket.objects == {NAME: b"picture"}


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
    store = opened(seconds=1)
    bucket.failing = answer
    for ask in (lambda: store.put(NAME, b"picture"), lambda: store.read(NAME), lambda: store.delete(NAME)):
        with pytest.raises(raised, match=told) as caught:
            ask()
        assert SECRET not in everything_told(caught.value)
        assert KEY_ID not in everything_told(caught.value)


def test_wrong_secret_is_rejected_and_hidden(
    bucket: Bucket, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    with pytest.raises(Unavailable, match="AWS_SECRET_ACCESS_KEY") as caught:
        opened().put(NAME, b"picture")
    assert "another-secret" not in everything_told(caught.value) + repr(opened()) + str(vars(opened()))
    assert bucket.objects == {}


def test_missing_bucket_is_reported(opened: Open) -> None:
    with pytest.raises(Unavailable, match="bucket not found"):
        opened(bucket="other-bucket").put(NAME, b"picture")
    with pytest.raises(NotFound):
        opened(bucket="other-bucket").read(NAME)


def test_without_its_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delitem(sys.modules, "kg_api.blobs.s3")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigurationError, match=r"\.\[s3\]"):
        open_blobs(BlobSettings(s3=S3Settings(bucket=BUCKET)), tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("bucket", value) for value in ("ab", "Bucket", "a/b", "-ab", "s3://bucket")),
        *(
            ("endpoint", value)
            for value in ("s3.example.org", "ftp://x", "https://key:secret@x", "https://x?a=b")
        ),
        *(("prefix", value) for value in ("/kg", "a//b", "a b", "kg?x")),
    ],
)
def test_redirecting_settings_are_rejected(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        S3Settings.model_validate({name: value})
