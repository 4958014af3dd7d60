"""Reading and checking a bundle: a folder with a manifest, a file of lines per ontology, and image files."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import numpy as np
from pydantic import ValidationError

from kg_api.errors import InvalidInput, NotFound
from kg_api.schemas import bundles
from kg_api.schemas.base import document_id
from kg_api.schemas.bundles import MAX_LINE_BYTES
from kg_api.schemas.problems import describe_problems

CheckBounds = Callable[[bytes], None]  # raises ValueError for JSON with too deep nesting or too many values
NUMBERS = "<f4"
FLOAT_BYTES = 4
LENGTH_TOLERANCE = 0.01


def require_format(told: int, by: str = "") -> None:
    """Raise InvalidInput for a bundle of another format. `by` names its writer in the message."""
    if told != bundles.FORMAT:
        raise InvalidInput(f"the bundle has format {told}{by}, but this kg reads format {bundles.FORMAT}")


def read_line(raw: bytes, check_bounds: CheckBounds) -> bundles.BundledLine:
    if len(raw) > MAX_LINE_BYTES:
        raise InvalidInput(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        check_bounds(raw)
        return bundles.LINE.validate_json(raw)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors(include_url=False, include_input=False))) from None
    except ValueError as error:
        raise InvalidInput(f"it {error}") from None


def read_lines(content: bytes, check_bounds: CheckBounds) -> Iterator[bundles.BundledLine]:
    for number, raw in enumerate(content.rstrip(b"\n").split(b"\n"), start=1):
        try:
            yield read_line(raw, check_bounds)
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
UNFINISHED: Final = "unfinished.json"
BLOBS: Final = "blobs"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_BLOB_BYTES = 1024 * 1024 * 1024


def file_name(number: int) -> str:
    """Return the name of the file with an ontology's lines, by its number from 1."""
    return f"ontology-{number:04}.jsonl"


def blob_path(folder: Path, key: str) -> Path:
    return folder / BLOBS / key[:2] / key


@contextmanager
def open_plain(path: Path) -> Generator[IO[bytes]]:
    """Open a regular file for reading."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(
            f"{path.name} cannot be read ({error.strerror}): the bundle is not whole"
        ) from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInput(f"{path.name} is not a regular file, so kg did not create this bundle")
        yield file


def read_manifest(folder: Path, check_bounds: CheckBounds) -> bundles.Manifest:
    if not (folder / MANIFEST).exists():
        if (folder / UNFINISHED).exists():
            raise InvalidInput(f"the export to {folder} was not finished: run the same `kg export` again")
        raise NotFound(f"no bundle found in {folder}: {MANIFEST} is missing")
    with open_plain(folder / MANIFEST) as file:
        content = file.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise InvalidInput(f"{MANIFEST} is longer than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        check_bounds(content)
        found = bundles.Manifest.model_validate_json(content)
    except ValidationError as error:
        told = describe_problems(error.errors(include_url=False, include_input=False))
        raise InvalidInput(f"{MANIFEST}: {told}") from None
    except ValueError as error:
        raise InvalidInput(f"{MANIFEST} {error}") from None
    require_format(found.format, f", written by kg {found.kg_version}")
    for named in ([each.path for each in found.files], [each.configuration.ontology for each in found.files]):
        if len(set(named)) != len(named):
            raise InvalidInput(f"{MANIFEST} names a duplicate file or ontology")
    return found


def list_file_keys(line: bundles.BundledLine) -> list[str]:
    """Return the keys of the files that a line needs."""
    if isinstance(line, bundles.BundledDocument) and line.original is not None:
        return [line.original]
    if isinstance(line, bundles.BundledSource) and line.image is not None:
        return [line.image.storage_key, line.image.thumbnail_key]
    return []


def read_blob(folder: Path, key: str) -> bytes:
    with open_plain(blob_path(folder, key)) as file:
        content = file.read(MAX_BLOB_BYTES + 1)
    if len(content) > MAX_BLOB_BYTES or hashlib.sha256(content).hexdigest() != key:
        raise InvalidInput(f"the file {key} was changed or cut off: the bundle is not whole")
    return content


def raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    while raw := file.readline(MAX_LINE_BYTES + 2):
        if len(raw) > MAX_LINE_BYTES:
            raise InvalidInput(f"the next line is longer than {MAX_LINE_BYTES:,} bytes")
        if not raw.endswith(b"\n"):
            raise InvalidInput("the next line is cut off")
        yield raw


# Consistency of the lines of a bundle


class LineOrder:
    """A check that a file contains complete, unique documents and only lines that fit them."""

    def __init__(self, ontology: str, dimensions: int | None = None) -> None:
        self._ontology = ontology
        self._dimensions = dimensions
        self._known = set[bytes]()
        self._document: bundles.BundledDocument | None = None
        self._lengths: dict[int, int] = {}  # text lengths of the document's sources, by position
        self._end = 0
        self.counts = bundles.LineCounts()

    def add(self, line: bundles.BundledLine) -> None:
        if isinstance(line, bundles.BundledDocument):
            self._begin(line)
        elif isinstance(line, bundles.BundledSource):
            self._add_source(line)
        else:
            self._require_whole()
            known = self._document
            if known is None or (line.document, line.content_hash) != (known.document, known.content_hash):
                raise InvalidInput(
                    f"the line refers to {line.document!r}, which is not the previous document"
                )
            if isinstance(line, bundles.BundledVectors):
                check_vectors(line, self._lengths)
                self._dimensions = check_sizes(line, self._dimensions)
            else:
                check_concepts(line, self._lengths)
        setattr(self.counts, line.kind, getattr(self.counts, line.kind) + 1)

    def end(self) -> None:
        """Check that the last document is complete."""
        self._require_whole()

    def _begin(self, line: bundles.BundledDocument) -> None:
        self._require_whole()
        identity = bytes.fromhex(document_id(self._ontology, line.document))
        if identity in self._known:
            raise InvalidInput(f"a duplicate document: {line.document!r}")
        self._known.add(identity)
        self._document, self._lengths, self._end = line, {}, len(line.preface)

    def _add_source(self, line: bundles.BundledSource) -> None:
        if self._document is None:
            raise InvalidInput("a source precedes the first document")
        if len(self._lengths) >= self._document.sources:
            raise InvalidInput(
                f"{self._document.document!r} has more sources than the {self._document.sources} that "
                "it declares"
            )
        if line.start != self._end or line.end > self._document.characters:
            raise InvalidInput("a source does not start at the end of the previous one")
        if any(start > len(line.text) for _, start in line.blocks):
            raise InvalidInput("a block starts after the end of its source")
        self._lengths[len(self._lengths)] = len(line.text)
        self._end = line.end

    def _require_whole(self) -> None:
        if self._document is not None and len(self._lengths) < self._document.sources:
            raise InvalidInput(
                f"{self._document.document!r} has only {len(self._lengths)} of the "
                f"{self._document.sources} sources that it declares"
            )


def check_vectors(line: bundles.BundledVectors, lengths: Mapping[int, int]) -> None:
    """Check that vectors and chunks belong to existing sources, by the text lengths of sources."""
    covered = {at for each in line.chunks for at in range(each.first, each.last + 1)}
    if not lengths.keys() >= covered.union(line.paragraphs):
        raise InvalidInput("the line refers to an unknown source")
    for chunk in line.chunks:
        if chunk.offset > lengths[chunk.first] or chunk.end_offset > lengths[chunk.last]:
            raise InvalidInput("a chunk exceeds its source")
    covered.update(at for at, own in zip(line.paragraphs, line.vectors, strict=True) if own)
    if bare := [at for at in line.paragraphs if at not in covered]:
        raise InvalidInput(f"the source {bare[0]} has neither a vector nor a chunk")


def check_sizes(line: bundles.BundledVectors, dimensions: int | None = None) -> int | None:
    """Check that all vectors have the same number of dimensions, and return that number."""
    for vector in (*line.vectors, *(each.vector for each in line.chunks)):
        if vector is None:
            continue
        size = len(unpack(vector))
        dimensions = dimensions or size
        if size != dimensions:
            raise InvalidInput(f"a vector has {size} dimensions, but its space has {dimensions}")
    return dimensions


def check_concepts(line: bundles.BundledConcepts, lengths: Mapping[int, int]) -> None:
    """Check that quotes are within existing sources, by the text lengths of sources."""
    if line.paragraph not in lengths:
        raise InvalidInput("the line refers to an unknown source")
    length = lengths[line.paragraph]
    quotes = [quote for each in line.concepts for quote in each.quotes]
    quotes += [each.quote for each in line.relations if each.quote]
    if any(not each.start < each.end <= length for each in quotes):
        raise InvalidInput("a quote is not within its source")


# Checks of a complete bundle before the import: sizes, checksums, counts, and every line

Advance = Callable[[int], None]  # called with the number of checked bytes


class FileCheck:
    """A check of a file, line by line."""

    def __init__(self, path: str, configuration: bundles.BundledOntology, check_bounds: CheckBounds) -> None:
        self._path = path
        self._configuration = configuration
        self._check_bounds = check_bounds
        self._order = LineOrder(configuration.ontology)
        self._digest = hashlib.sha256()
        self._size = self._number = 0

    def add(self, raw: bytes) -> bundles.BundledLine:
        self._number += 1
        self._digest.update(raw)
        self._size += len(raw)
        line = read_line(raw, self._check_bounds)
        self._order.add(line)
        return line

    def end(self) -> bundles.BundledFile:
        """Return the description of the file. Its last document must be complete."""
        self._order.end()
        return bundles.BundledFile(
            path=self._path,
            bytes=self._size,
            sha256=self._digest.hexdigest(),
            lines=self._order.counts,
            configuration=self._configuration,
        )

    @contextmanager
    def naming(self) -> Generator[None]:
        """Add the file and the line to InvalidInput errors."""
        try:
            yield
        except InvalidInput as error:
            raise InvalidInput(f"{self._path}, line {self._number}: {error}") from None


def check_bundle(folder: Path, check_bounds: CheckBounds, advance: Advance) -> bundles.Manifest:
    manifest = read_manifest(folder, check_bounds)
    keys = set[str]()
    try:
        for told in manifest.files:
            check = FileCheck(told.path, told.configuration, check_bounds)
            with check.naming(), open_plain(folder / told.path) as file:
                for raw in raw_lines(file):
                    keys.update(list_file_keys(check.add(raw)))
                    advance(len(raw))
                found = check.end()
            _compare(told, found)
        for key in sorted(keys.difference(manifest.blobs.lost)):
            read_blob(folder, key)
    except InvalidInput as error:
        raise InvalidInput(f"{error}. Nothing was changed.") from None
    return manifest


def _compare(told: bundles.BundledFile, found: bundles.BundledFile) -> None:
    if told.bytes != found.bytes:
        raise InvalidInput(
            f"{told.path} has {found.bytes:,} bytes instead of {told.bytes:,} in the manifest. The "
            "file was cut off or changed"
        )
    if told.sha256 != found.sha256:
        raise InvalidInput(f"{told.path} has another checksum than in the manifest")
    if told.lines != found.lines:
        counts, wanted = (
            ", ".join(f"{count} {kind}" for kind, count in each.lines.model_dump().items())
            for each in (found, told)
        )
        raise InvalidInput(f"{told.path} has {counts}, and {wanted} by the manifest")
