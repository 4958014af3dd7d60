"""A bundle as it lies in a folder: a manifest, a file of lines for each ontology, and the files of pictures.

Nothing that a bundle says becomes a path but what is a number or a hash; links and devices are not followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from pydantic import ValidationError

from kg_api.bundle.lines import CheckBounds, require_format
from kg_api.errors import InvalidInput, NotFound
from kg_api.models.bundle.lines import MAX_LINE_BYTES, BundledDocument, BundledLine, BundledSource
from kg_api.models.bundle.manifest import Manifest
from kg_api.models.problems import describe_problems

MANIFEST: Final = "manifest.json"
UNFINISHED: Final = "unfinished.json"
BLOBS: Final = "blobs"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_BLOB_BYTES = 1024 * 1024 * 1024
PART = 1024 * 1024


def file_name(number: int) -> str:
    """What the lines of an ontology are called, by its number from 1."""
    return f"ontology-{number:04}.jsonl"


def blob_path(folder: Path, key: str) -> Path:
    """Where the file of a key is."""
    return folder / BLOBS / key[:2] / key


@contextmanager
def open_plain(path: Path) -> Generator[IO[bytes]]:
    """Open a file for reading that is one.

    Raises:
        InvalidInput: it is not there, or is a link, a folder or a device.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(
            f"{path.name} cannot be read ({error.strerror}): the bundle is not whole"
        ) from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInput(f"{path.name} is no plain file: this bundle was not made by kg")
        yield file


def read_manifest(folder: Path, check_bounds: CheckBounds) -> Manifest:
    """What a bundle says of itself.

    Raises:
        NotFound: there is no bundle.
        InvalidInput: it was not finished, is of another format, or is none.
    """
    if not (folder / MANIFEST).exists():
        if (folder / UNFINISHED).exists():
            raise InvalidInput(f"the export to {folder} was not finished: run the same `kg export` again")
        raise NotFound(f"there is no bundle in {folder}: {MANIFEST} is missing")
    with open_plain(folder / MANIFEST) as file:
        content = file.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise InvalidInput(f"{MANIFEST} is longer than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        check_bounds(content)
        found = Manifest.model_validate_json(content)
    except ValidationError as error:
        told = describe_problems(error.errors(include_url=False, include_input=False))
        raise InvalidInput(f"{MANIFEST}: {told}") from None
    except ValueError as error:
        raise InvalidInput(f"{MANIFEST} {error}") from None
    _require_known(found)
    return found


def _require_known(manifest: Manifest) -> None:
    require_format(manifest.format, f", written by kg {manifest.kg_version}")
    for named in (
        [each.path for each in manifest.files],
        [each.configuration.ontology for each in manifest.files],
    ):
        if len(set(named)) != len(named):
            raise InvalidInput(f"{MANIFEST} names a duplicate file or ontology")


def keys_of(line: BundledLine) -> list[str]:
    """The files that a line needs."""
    if isinstance(line, BundledDocument) and line.original is not None:
        return [line.original]
    if isinstance(line, BundledSource) and line.image is not None:
        return [line.image.storage_key, line.image.thumbnail_key]
    return []


def read_blob(folder: Path, key: str) -> bytes:
    """The file of a key.

    Raises:
        InvalidInput: it is not there, is too large, or is not what its name says.
    """
    with open_plain(blob_path(folder, key)) as file:
        content = file.read(MAX_BLOB_BYTES + 1)
    if len(content) > MAX_BLOB_BYTES or hashlib.sha256(content).hexdigest() != key:
        raise InvalidInput(f"the file {key} was changed or cut off: the bundle is not whole")
    return content


def raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines with their ends.

    Raises:
        InvalidInput: one is too long, or the last one has no end.
    """
    while raw := file.readline(MAX_LINE_BYTES + 2):
        if len(raw) > MAX_LINE_BYTES:
            raise InvalidInput(f"the line behind it is longer than {MAX_LINE_BYTES:,} bytes")
        if not raw.endswith(b"\n"):
            raise InvalidInput("the line behind it is cut off")
        yield raw
