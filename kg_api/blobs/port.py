"""Where bytes are kept that are no business of the database: pictures, their thumbnails and PDFs."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from kg_api.errors import NotFound

_NAME = re.compile("([0-9a-f]{64})(-[0-9a-f]{32})?")


class BlobStore(Protocol):
    """Keeps bytes by name. Thread-safe, and shared by all processes of one kg.

    A name is the key of what it stands for, the hash of its bytes, and a generation: what was deleted comes
    again under another name, so that a deletion that is carried out late, or twice, hurts nothing. Which
    names are used is said in the graph (`kg_api/images/files.py`): a store knows no users.
    """

    def put(self, name: str, content: bytes) -> None:
        """Keep bytes, all of them or none; the same again changes nothing.

        Raises:
            StorageFull: there is no room.
            Unavailable: they cannot be kept.
        """
        ...

    def read(self, name: str) -> bytes:
        """Give the bytes of a name.

        Raises:
            NotFound: they are not there.
            Unavailable: they cannot be read.
        """
        ...

    def delete(self, name: str) -> None:
        """Forget a name, which is never put again; one that is not there is no error.

        Raises:
            Unavailable: it cannot be deleted, or nobody knows whether it was, or will be.
        """
        ...

    def sweep(self) -> int:
        """Remove what was being written when its process died; says how many files.

        Raises:
            Unavailable: they cannot be removed.
        """
        ...


def name_of(key: str, generation: str | None) -> str:
    """What a store calls a blob; those of before there were generations have none."""
    return key if generation is None else f"{key}-{generation}"


def require_name(name: str) -> str:
    """A name is a hash and a generation, and nothing else: none leads to what is not the store's.

    Raises:
        NotFound: it is no name.
    """
    if not _NAME.fullmatch(name):
        raise NotFound("that is not the name of a stored file")
    return name


def gone(name: str) -> str:
    """What to tell of a file that is not there."""
    return f"the stored file {name} is not there any more: ingest its document again"


def key_of(content: bytes) -> str:
    """The key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()
