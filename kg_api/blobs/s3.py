"""Blobs as objects of a bucket, in any store that speaks the protocol of Amazon S3."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from datetime import timedelta
from typing import TYPE_CHECKING

from kg_api.errors import ConfigurationError, FileStoreFull, Unavailable
from kg_api.providers.extras import missing
from kg_api.settings import S3Settings

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config
from kg_api.blobs.store import MARKER, gone, identity_in, marker_of, require_name, require_whole

try:
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError:
    raise missing("s3") from None

RETRIES = 3
_CONNECT_SECONDS = 5
_S3_NO_ROOM = re.compile(r"\b507\b|StorageFull|QuotaExceeded")
_KEYS = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the rights of these keys"


class S3BlobStore:
    """Keeps blobs in a bucket: each is one object, put by one request, so that no half of one is there."""

    def __init__(self, bucket: S3Store, prefix: str, name: str) -> None:
        """Use a bucket.

        Args:
            bucket: open.
            prefix: what the keys of its objects begin with.
            name: what people call it.
        """
        self._bucket = bucket
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._name = name
        self.place = f"{name} (KG_BLOBS__S3__*)"

    def identity(self) -> str | None:
        """Which store it is; see `BlobStore`."""
        with self._translated("read"), contextlib.suppress(FileNotFoundError):
            return identity_in(obstore.get(self._bucket, self._prefix + MARKER).bytes().to_bytes())
        return None

    def mark(self, identity: str) -> None:
        """Let it be that store; see `BlobStore`."""
        content = marker_of(identity).encode()
        with self._translated("kept"):
            obstore.put(self._bucket, self._prefix + MARKER, content, use_multipart=False)

    def put(self, name: str, content: bytes) -> bool:
        """Keep bytes; see `BlobStore`."""
        path = self._path(name)
        with self._translated("kept"):
            if self._holds(path, content):
                return False
            obstore.put(self._bucket, path, content, use_multipart=False)
            return True

    def read(self, name: str) -> bytes:
        """Give the bytes of a name; see `BlobStore`."""
        path = self._path(name)
        with self._translated("read"):
            try:
                content = obstore.get(self._bucket, path).bytes().to_bytes()
            except FileNotFoundError:
                raise gone(name) from None
        return require_whole(name, content)

    def has(self, name: str) -> bool:
        """Whether there is such an object; see `BlobStore`."""
        path = self._path(name)
        with self._translated("read"), contextlib.suppress(FileNotFoundError):
            obstore.head(self._bucket, path)
            return True
        return False

    def delete(self, name: str) -> None:
        """Forget a name; see `BlobStore`."""
        path = self._path(name)
        with self._translated("deleted"), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._bucket, path)

    def sweep(self) -> int:
        """Nothing is left of a put that was broken off."""
        return 0

    def _path(self, name: str) -> str:
        return f"{self._prefix}{require_name(name)}"

    def _holds(self, path: str, content: bytes) -> bool:
        """Whether it is there whole. An ETag does not tell: it is the hash of the bytes in some stores."""
        try:
            found = obstore.get(self._bucket, path)
        except FileNotFoundError:
            return False
        return found.meta["size"] == len(content) and found.bytes().to_bytes() == content

    @contextlib.contextmanager
    def _translated(self, done: str) -> Generator[None]:
        """Turn the library's errors into ours; their own words may hold keys, and are told to nobody.

        Raises:
            FileStoreFull: there is no room.
            Unavailable: all else.
        """
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            if _S3_NO_ROOM.search(str(error)):
                raise FileStoreFull(f"{self._name} is full: free some space, and try again") from None
            raise Unavailable(f"a stored file cannot be {done} in {self._name}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket (KG_BLOBS__S3__BUCKET)"
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return f"it refuses: look at {_KEYS}"
    return "it does not answer, or not as it should (KG_BLOBS__S3__ENDPOINT)"


def open_bucket(settings: S3Settings) -> S3BlobStore:
    """Use the bucket that the settings name; nothing is asked of it yet.

    Raises:
        ConfigurationError: the settings do not fit together.
    """
    endpoint, seconds = settings.endpoint, timedelta(seconds=settings.seconds)
    config: S3Config = {"region": settings.region, "disable_bulk_delete": True}
    if endpoint is not None:
        config["endpoint"] = endpoint.rstrip("/")
    client: ClientConfig = {
        "allow_http": endpoint is not None and endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "timeout": seconds,
    }
    retries: RetryConfig = {"max_retries": RETRIES, "retry_timeout": seconds}
    try:
        store = S3Store(settings.bucket, config=config, client_options=client, retry_config=retries)
    except (BaseError, ValueError):
        raise ConfigurationError("KG_BLOBS__S3__* or AWS_*: the bucket cannot be used so") from None
    return S3BlobStore(store, settings.prefix, f"the bucket {settings.bucket!r}")
