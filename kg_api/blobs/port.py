"""Where bytes are kept that are no business of the database: pictures, their thumbnails and PDFs."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from kg_api.errors import NotFound

_KEY = re.compile("[0-9a-f]{64}")


class BlobStore(Protocol):
    """Keeps bytes by the hash of what they say. Thread-safe, and shared by all processes of one kg.

    Who may delete is decided in the graph (`kg_api/images/collecting.py`): a store knows no users.
    """

    def put(self, content: bytes) -> str:
        """Keep bytes, all of them or none; the same again changes nothing. Gives their key.

        Raises:
            StorageFull: there is no room.
            Unavailable: they cannot be kept.
        """
        ...

    def read(self, key: str) -> bytes:
        """Give the bytes of a key.

        Raises:
            NotFound: they are not there.
            Unavailable: they cannot be read.
        """
        ...

    def delete(self, key: str) -> None:
        """Forget a key; one that is not there is no error.

        Raises:
            Unavailable: they cannot be deleted.
        """
        ...

    def sweep(self) -> int:
        """Remove what was being written when its process died; says how many files.

        Raises:
            Unavailable: they cannot be removed.
        """
        ...


def require_key(key: str) -> str:
    """A key is a hash and nothing else: none leads to what is not the store's.

    Raises:
        NotFound: it is no key.
    """
    if not _KEY.fullmatch(key):
        raise NotFound("that is not the key of a stored file")
    return key


def gone(key: str) -> str:
    """What to tell of a file that is not there."""
    return f"the stored file {key} is not there any more: ingest its document again"


def key_of(content: bytes) -> str:
    """The key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()
