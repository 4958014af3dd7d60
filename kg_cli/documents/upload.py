"""Sending many files to the service, in batches; a file that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from kg_api.client import KgClient
from kg_api.errors import Forbidden, KgError, TooLarge, Unauthorized, Unavailable
from kg_api.models.library.batches import DocumentOutcome
from kg_api.models.library.documents import Ingested
from kg_api.models.library.formats import CONVERTED_SUFFIXES, OcrMode
from kg_api.models.library.metadata import MetadataValue, file_time
from kg_api.models.problems import PASSING
from kg_api.parse.files import FileToIngest
from kg_cli.jobs.waiting import patiently

T = TypeVar("T")
CONCERNS_ALL = (Unavailable, Unauthorized, Forbidden)
"""What is told once, for the other files would meet the same."""

PARALLEL_UPLOADS = 2
"""Parsing and storing keep two cores busy; more only waits."""
FILES_A_BATCH = 100
BYTES_A_BATCH = 1_000_000
"""A larger file goes alone, as it is."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where files go, and what is said of each of them."""

    ontology: str
    metadata: dict[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    skip_duplicates: bool = False
    review: bool = False
    ocr: OcrMode = "auto"

    def about(self, file: FileToIngest) -> dict[str, Any]:
        """What a document of a file is made with, besides its text."""
        known = {
            "ontology": self.ontology,
            "document": file.document,
            "uri": file.path.resolve().as_uri(),
        }
        told = {
            "metadata": self.metadata,
            "modified": file_time(file.path.stat().st_mtime),
            "duplicates": "skip" if self.skip_duplicates else None,
            "review": self.review,
            "ocr": None if self.ocr == "auto" else self.ocr,
        }
        return {**known, **{name: value for name, value in told.items() if value}}


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of one file: either of the two is set."""

    file: FileToIngest
    ingested: Ingested | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Decoded:
    """A file as a document of a batch, with notes on how it was read."""

    file: FileToIngest
    document: dict[str, Any]
    notes: tuple[str, ...]


def upload(client: KgClient, files: Sequence[FileToIngest], into: Destination) -> Iterator[Uploaded]:
    """Send files in order and give each one's outcome as it comes.

    Raises:
        KgError: the service stays away or refuses everything; what came before is stored.
    """
    with ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        for uploaded in pool.map(partial(_upload_batch, client, into), divide(files)):
            yield from uploaded  # an error cancels the batches that wait


def divide(files: Sequence[FileToIngest]) -> Iterator[list[FileToIngest]]:
    """Files in batches, in their order; one that is large, or that the service converts, goes alone."""
    batch, size = list[FileToIngest](), 0
    for file in files:
        if file.path.suffix.lower() in CONVERTED_SUFFIXES:
            yield [file]
            continue
        length = _length(file)
        if batch and (len(batch) == FILES_A_BATCH or size + length > BYTES_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += length
    if batch:
        yield batch


def send_file(send: Callable[..., T], file: FileToIngest, into: Destination) -> T:
    """Send a file with what is known of it and the pictures it names, again while the service is away.

    Raises:
        OSError: it cannot be read.
        KgError: as the call raises.
    """
    from kg_api.parse.beside.files import files_beside
    from kg_api.parse.beside.references import reference_to

    content = file.path.read_bytes()
    alone = partial(send, content, **into.about(file))
    beside = files_beside(file.path, file.root, content)
    images = {reference_to(key): image for key, image in beside.items()}
    if not images:
        return patiently(alone)
    try:
        return patiently(partial(alone, images=images))
    except TooLarge:  # with them: the service tells which it has not got
        return patiently(alone)


def _length(file: FileToIngest) -> int:
    try:
        return file.path.stat().st_size
    except OSError:  # told when it is read
        return 0


def _upload_batch(client: KgClient, into: Destination, files: Sequence[FileToIngest]) -> list[Uploaded]:
    if len(files) == 1:
        return [_upload_one(client, into, files[0])]
    read = [_decode(file, into) or _upload_one(client, into, file) for file in files]
    decoded = [each for each in read if isinstance(each, _Decoded)]
    outcomes = iter(_send(client, [each.document for each in decoded]) if decoded else ())
    return [
        _uploaded(client, into, each, next(outcomes)) if isinstance(each, _Decoded) else each for each in read
    ]


def _send(client: KgClient, documents: Sequence[dict[str, Any]]) -> Sequence[DocumentOutcome | None]:
    """What became of each; None where the batch was refused as a whole: this service takes smaller ones."""
    try:
        return patiently(partial(client.ingest_batch, documents)).outcomes
    except CONCERNS_ALL:
        raise
    except KgError:
        return [None] * len(documents)


def _uploaded(
    client: KgClient, into: Destination, sent: _Decoded, outcome: DocumentOutcome | None
) -> Uploaded:
    if outcome and outcome.ingested:
        notes = [*sent.notes, *outcome.ingested.notes]
        return Uploaded(sent.file, outcome.ingested.model_copy(update={"notes": notes}))
    if outcome and outcome.problem and outcome.problem.status not in PASSING:
        return Uploaded(sent.file, problem=outcome.problem.detail)
    return _upload_one(client, into, sent.file)


def _decode(file: FileToIngest, into: Destination) -> _Decoded | Uploaded | None:
    """Read a file as the service reads one that comes alone.

    None: it goes alone, for it names pictures, or is a PDF or a picture whatever its name says.
    """
    from kg_api.parse.beside.files import references_in
    from kg_api.parse.decode import decode
    from kg_api.parse.documents import plain_format

    try:
        content = file.path.read_bytes()
        if plain_format(content) or references_in(content, file.path.name):
            return None
        text, notes = decode(content)
        about = into.about(file)
    except OSError as error:
        return _unreadable(file, error)
    except KgError as error:
        return Uploaded(file, problem=str(error))
    return _Decoded(file, {**about, "text": text}, notes)


def _upload_one(client: KgClient, into: Destination, file: FileToIngest) -> Uploaded:
    try:
        ingested = send_file(client.ingest_bytes, file, into)
    except OSError as error:
        return _unreadable(file, error)
    except CONCERNS_ALL:
        raise
    except KgError as error:
        return Uploaded(file, problem=str(error))
    return Uploaded(file, ingested=ingested)


def _unreadable(file: FileToIngest, error: OSError) -> Uploaded:
    return Uploaded(file, problem=f"cannot be read: {error.strerror or error}")
