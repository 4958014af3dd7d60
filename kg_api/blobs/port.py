"""Where bytes are kept that are no business of the database: pictures and their thumbnails."""

from __future__ import annotations

import hashlib
from typing import Protocol


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


def key_of(content: bytes) -> str:
    """The key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()
