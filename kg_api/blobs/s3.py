"""Blob store in a bucket of any service with the Amazon S3 protocol."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from datetime import timedelta
from typing import TYPE_CHECKING

from kg_api.errors import ConfigurationError, FileStoreFull, Unavailable
from kg_api.providers.extras import describe_missing
from kg_api.settings import S3Settings

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config
from kg_api.blobs.store import BlobStore

try:
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError:
    raise describe_missing("s3") from None

RETRIES = 3
_CONNECT_SECONDS = 5
_S3_NO_ROOM = re.compile(r"status code: 507\b|<Code>\w*(?:StorageFull|QuotaExceeded)")
"""The message of the library also contains the URL and the time, such as `in 507.3ms`."""
_KEYS = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the rights of these keys"


class S3BlobStore(BlobStore):
    """Blobs as objects of a bucket. One request writes each object, so no partial object exists."""

    def __init__(self, bucket: S3Store, prefix: str, name: str) -> None:
        """`prefix`: prefix of all object keys. `name`: name of the bucket in messages."""
        self._bucket = bucket
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._name = name
        self.place = f"{name} (KG_BLOBS__S3__*)"

    def delete_partial_files(self) -> int:
        return 0  # an interrupted put leaves nothing

    def _read(self, name: str) -> bytes:
        return obstore.get(self._bucket, self._prefix + name).bytes().to_bytes()

    def _holds(self, name: str, content: bytes) -> bool:
        # An ETag is the hash of the bytes only in some stores
        try:
            found = obstore.get(self._bucket, self._prefix + name)
        except FileNotFoundError:
            return False
        return found.meta["size"] == len(content) and found.bytes().to_bytes() == content

    def _has(self, name: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            obstore.head(self._bucket, self._prefix + name)
            return True
        return False

    def _write(self, name: str, content: bytes) -> None:
        obstore.put(self._bucket, self._prefix + name, content, use_multipart=False)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            obstore.delete(self._bucket, self._prefix + name)

    @contextlib.contextmanager
    def _translate_errors(self, done: str) -> Generator[None]:
        # Messages of the library may contain credentials, so kg hides them
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            if _S3_NO_ROOM.search(str(error)):
                raise FileStoreFull(f"{self._name} is full: free some space, and try again") from None
            reason = "the storage does not respond correctly (KG_BLOBS__S3__ENDPOINT)"
            if isinstance(error, FileNotFoundError):
                reason = "bucket not found (KG_BLOBS__S3__BUCKET)"
            elif isinstance(error, PermissionDeniedError | UnauthenticatedError):
                reason = f"the storage denies access. Check {_KEYS}"
            raise Unavailable(f"a stored file cannot be {done} in {self._name}: {reason}") from None


def open_bucket(settings: S3Settings) -> S3BlobStore:
    """Open the bucket without sending a request. Raise ConfigurationError for inconsistent settings."""
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
