"""Reading and checking a bundle: a folder with a manifest, a file of lines per ontology, and image files."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import numpy as np
from pydantic import ValidationError

from kg_api.errors import InvalidInput, NotFound
from kg_api.schemas import bundles
from kg_api.schemas.bundles import MAX_LINE_BYTES
from kg_api.schemas.problems import describe_problems

NUMBERS = "<f4"
FLOAT_BYTES = 4
LENGTH_TOLERANCE = 0.01


def require_format(version: int, by: str = "") -> None:
    """Raise InvalidInput for a bundle of another format. `by` names its writer in the message."""
    if version != bundles.FORMAT:
        raise InvalidInput(f"the bundle has format {version}{by}, but this kg reads format {bundles.FORMAT}")


def read_line(raw: bytes) -> bundles.BundledLine:
    """Parse a line and check its vectors."""
    if len(raw) > MAX_LINE_BYTES:
        raise InvalidInput(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        line = bundles.LINE.validate_json(raw)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors(include_url=False, include_input=False))) from None
    if isinstance(line, bundles.BundledPassages):
        for each in (*line.passages, *line.chunks):
            if each.vector is not None:
                unpack(each.vector)
    return line


def read_lines(content: bytes) -> Iterator[bundles.BundledLine]:
    for number, raw in enumerate(content.rstrip(b"\n").split(b"\n"), start=1):
        try:
            yield read_line(raw)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error}") from None


def pack(vector: Sequence[float]) -> str:
    """Return a vector as in a line: base64 of 32-bit floats, little-endian."""
    return base64.b64encode(np.asarray(vector, dtype=NUMBERS).tobytes()).decode()


def unpack(vector: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    content = base64.b64decode(vector)
    if len(content) % FLOAT_BYTES:
        raise InvalidInput("a vector is not a row of 32-bit floats")
    values = np.frombuffer(content, dtype=NUMBERS).astype(np.float32)
    if not np.isfinite(values).all():
        raise InvalidInput("a vector holds NaN or infinite values")
    if not values.any():
        raise InvalidInput("a vector is zero and has no direction")
    length = float(np.linalg.norm(values.astype(np.float64)))
    if abs(length - 1) > LENGTH_TOLERANCE:
        raise InvalidInput(f"a vector has the length {length:.3g}, but every vector of kg has length 1")
    return values


# Files
#
# Paths come only from numbers and hashes in a bundle. kg does not follow links or open devices.

MANIFEST: Final = "manifest.json"
BLOBS: Final = "blobs"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_BLOB_BYTES = 1024 * 1024 * 1024


def build_file_name(number: int) -> str:
    """Return the name of the file with an ontology's lines, by its number from 1."""
    return f"ontology-{number:04}.jsonl"


def build_blob_path(folder: Path, key: str) -> Path:
    return folder / BLOBS / key[:2] / key


@contextmanager
def open_plain(path: Path) -> Generator[IO[bytes]]:
    """Open a regular file for reading."""
    try:
        # O_NONBLOCK: the open of a named pipe must not wait for a writer
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(
            f"{path.name} cannot be read ({error.strerror}): the bundle is not whole"
        ) from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInput(f"{path.name} is not a regular file, so kg did not create this bundle")
        yield file


def read_manifest(folder: Path) -> bundles.Manifest:
    if not (folder / MANIFEST).exists():
        raise NotFound(f"no bundle found in {folder}: {MANIFEST} is missing, which an export writes last")
    with open_plain(folder / MANIFEST) as file:
        content = file.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise InvalidInput(f"{MANIFEST} is longer than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        found = bundles.Manifest.model_validate_json(content)
    except ValidationError as error:
        problems = describe_problems(error.errors(include_url=False, include_input=False))
        raise InvalidInput(f"{MANIFEST}: {problems}") from None
    require_format(found.format, f", written by kg {found.kg_version}")
    for named in ([each.path for each in found.files], [each.configuration.ontology for each in found.files]):
        if len(set(named)) != len(named):
            raise InvalidInput(f"{MANIFEST} names a duplicate file or ontology")
    return found


def list_file_keys(line: bundles.BundledLine) -> list[str]:
    if not isinstance(line, bundles.BundledDocument):
        return []
    images = [each.image for each in line.sources if each.image is not None]
    keys = [key for each in images for key in (each.storage_key, each.thumbnail_key)]
    return keys if line.original is None else [line.original, *keys]


def read_blob(folder: Path, key: str) -> bytes:
    with open_plain(build_blob_path(folder, key)) as file:
        content = file.read(MAX_BLOB_BYTES + 1)
    if len(content) > MAX_BLOB_BYTES or hashlib.sha256(content).hexdigest() != key:
        raise InvalidInput(f"the file {key} was changed or cut off: the bundle is not whole")
    return content


def read_raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    while raw := file.readline(MAX_LINE_BYTES + 2):
        if len(raw) > MAX_LINE_BYTES:
            raise InvalidInput(f"the next line is longer than {MAX_LINE_BYTES:,} bytes")
        if not raw.endswith(b"\n"):
            raise InvalidInput("the next line is cut off")
        yield raw


# Checks of a complete bundle before the import: sizes, checksums, counts, and every line

Advance = Callable[[int], None]  # called with the number of checked bytes


class FileCheck:
    def __init__(self, path: str, configuration: bundles.BundledOntology) -> None:
        self._path = path
        self._configuration = configuration
        self._digest = hashlib.sha256()
        self._size = self._number = self._documents = self._sources = 0

    def add(self, raw: bytes) -> bundles.BundledLine:
        self._number += 1
        self._digest.update(raw)
        self._size += len(raw)
        line = read_line(raw)
        if isinstance(line, bundles.BundledDocument):
            self._documents += 1
            self._sources += len(line.sources)
        return line

    def describe(self) -> bundles.BundledFile:
        return bundles.BundledFile(
            path=self._path,
            bytes=self._size,
            sha256=self._digest.hexdigest(),
            documents=self._documents,
            sources=self._sources,
            configuration=self._configuration,
        )

    @contextmanager
    def naming(self) -> Generator[None]:
        """Add the file and the line to InvalidInput errors."""
        try:
            yield
        except InvalidInput as error:
            raise InvalidInput(f"{self._path}, line {self._number}: {error}") from None


def check_bundle(folder: Path, advance: Advance) -> bundles.Manifest:
    manifest = read_manifest(folder)
    keys = set[str]()
    try:
        for entry in manifest.files:
            check = FileCheck(entry.path, entry.configuration)
            with check.naming(), open_plain(folder / entry.path) as file:
                for raw in read_raw_lines(file):
                    keys.update(list_file_keys(check.add(raw)))
                    advance(len(raw))
            _compare(entry, check.describe())
        for key in sorted(keys.difference(manifest.blobs.lost)):
            read_blob(folder, key)
    except InvalidInput as error:
        raise InvalidInput(f"{error}. Nothing was changed.") from None
    return manifest


def _compare(entry: bundles.BundledFile, found: bundles.BundledFile) -> None:
    if entry.bytes != found.bytes:
        raise InvalidInput(
            f"{entry.path} has {found.bytes:,} bytes instead of {entry.bytes:,} in the manifest. The "
            "file was cut off or changed"
        )
    if entry.sha256 != found.sha256:
        raise InvalidInput(f"{entry.path} has another checksum than in the manifest")
    if entry != found:
        raise InvalidInput(
            f"{entry.path} has {found.documents} documents and {found.sources} sources, but the manifest "
            f"says {entry.documents} and {entry.sources}"
        )
