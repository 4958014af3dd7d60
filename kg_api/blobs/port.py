"""Where bytes are kept that are no business of the database: pictures, their thumbnails and PDFs."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Protocol

from kg_api.errors import FileLost, NotFound

MARKER = "store.json"
"""What tells one store from another, beside its blobs."""
_NAME = re.compile("([0-9a-f]{64})(-[0-9a-f]{32})?")


class BlobStore(Protocol):
    """Keeps bytes by name. Thread-safe, and shared by all processes of one kg.

    A name is the key of what it stands for, the hash of its bytes, and a generation: what was deleted comes
    again under another name, so that a deletion that is carried out late, or twice, hurts nothing. Which
    names are used is said in the graph (`kg_api/images/files.py`): a store knows no users.
    """

    place: str
    """What people call it, with the settings that name it."""

    def identity(self) -> str | None:
        """Which store it is; None: nobody has marked it, or it is not there.

        Raises:
            Unavailable: it does not answer.
        """
        ...

    def mark(self, identity: str) -> None:
        """Let it be that store from now on.

        Raises:
            FileStoreFull, Unavailable: as `put` does.
        """
        ...

    def put(self, name: str, content: bytes) -> bool:
        """Keep bytes, all of them or none; whether they were not there already, whole.

        Raises:
            FileStoreFull: there is no room.
            Unavailable: they cannot be kept.
        """
        ...

    def read(self, name: str) -> bytes:
        """Give the bytes of a name.

        Raises:
            FileLost: they are not there, or are not what was put.
            Unavailable: they cannot be read.
        """
        ...

    def has(self, name: str) -> bool:
        """Whether there is something of that name.

        Raises:
            Unavailable: it does not answer.
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


def gone(name: str) -> FileLost:
    """What to raise of a file that is not there."""
    return FileLost(f"the stored file {name} is not there any more: ingest its document again")


def require_whole(name: str, content: bytes) -> bytes:
    """What was read of a name.

    Raises:
        FileLost: it is not what its name says.
    """
    if not name.startswith(key_of(content)):
        raise FileLost(f"the stored file {name} is damaged: ingest its document again")
    return content


def marker_of(identity: str) -> str:
    """What a store's marker says."""
    return json.dumps({"store": identity})


def identity_in(marker: bytes) -> str | None:
    """Which store it is by its marker; None: that says nothing."""
    try:
        identity = json.loads(marker)["store"]
    except (ValueError, TypeError, KeyError):
        return None
    return identity if isinstance(identity, str) and identity else None


def key_of(content: bytes) -> str:
    """The key of bytes: their SHA-256, in small hexadecimal letters."""
    return hashlib.sha256(content).hexdigest()
