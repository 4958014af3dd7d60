"""The store of files that the settings name."""

from __future__ import annotations

from pathlib import Path

from kg_api.api_settings import BlobSettings
from kg_api.blobs.files import FileBlobStore
from kg_api.blobs.port import BlobStore


def open_blobs(settings: BlobSettings, home: Path) -> BlobStore:
    """Open it; nothing is asked of it before the first file.

    Args:
        settings: which one.
        home: the folder that it is, where none is named.

    Raises:
        ConfigurationError: it is a bucket, and what it takes to reach one is missing.
    """
    if settings.s3.bucket is None:
        return FileBlobStore(settings.folder or home)
    from kg_api.blobs.s3 import open_bucket  # noqa: PLC0415 - its library is an extra

    return open_bucket(settings.s3)
