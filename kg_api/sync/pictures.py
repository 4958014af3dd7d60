"""The pictures that files of a folder name: a change of one is a change of the document that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kg_api.errors import TooLarge, UnreadableDocument
from kg_api.parse.beside.files import find_beside, read_beside, references_in
from kg_api.parse.files import FileToIngest
from kg_api.sync.listing import FolderListing
from kg_api.sync.reading import UnsettledFile, read_settled, stamp_of

_MARK = "|pictures:"
"""Between what a file looks like and what its pictures do, in what is remembered of it."""


@dataclass(slots=True)
class PicturesOfFile:
    """Pictures as they were read."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    stamp: str | None = ""
    """Goes behind the file's own; None: one may change again and look the same."""
    file_hash: str = ""
    """As above."""


@dataclass(frozen=True, slots=True)
class FolderPictures:
    """Looks at the pictures that files name.

    What is remembered of a file names them: while it is as it was, it is not read, and they are looked at.
    """

    listing: FolderListing
    max_bytes: int
    """Of all pictures of a file."""

    def stamp(self, file: FileToIngest, remembered: str | None) -> str:
        """What the pictures look like now that a file named when it was read; nothing, if it named none."""
        keys = (remembered or "").partition(_MARK)[2].partition(":")[2]
        return self._stamp(file, json.loads(keys)) if keys else ""

    def read(self, file: FileToIngest, content: bytes) -> PicturesOfFile:
        """Read those that a file names.

        Raises:
            UnsettledFile: one is being written.
        """
        keys = references_in(content, file.document)
        if not keys:
            return PicturesOfFile()
        before = self._stamp(file, keys)
        unsettled: list[Path] = []

        def read(path: Path, most: int) -> bytes:
            try:
                found = read_settled(path, most)
            except (TooLarge, UnreadableDocument) as error:
                raise OSError from error
            unsettled.extend([path] if found.stamp is None else [])
            return found.data

        made = read_beside(((key, self._find(file, key)) for key in keys), read, self.max_bytes)
        if self._stamp(file, keys) != before:
            raise UnsettledFile
        hashes = [(key, hashlib.sha256(content).hexdigest()) for key, content in made.files.items()]
        return PicturesOfFile(made.files, None if unsettled else before, f"{_MARK}{_digest(hashes)}")

    def _find(self, file: FileToIngest, key: str) -> Path | None:
        return find_beside(file.path, self.listing.root, key, self.listing.is_private)

    def _stamp(self, file: FileToIngest, keys: Sequence[str]) -> str:
        """One that is missing looks like nothing: when it comes, the file is read again."""
        looks = [(key, _look(self._find(file, key))) for key in keys]
        return f"{_MARK}{_digest(looks)}:{json.dumps(list(keys), ensure_ascii=False)}"


def _look(path: Path | None) -> str:
    try:
        return stamp_of(path.stat()) if path else ""
    except OSError:
        return ""


def _digest(of: object) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:32]
