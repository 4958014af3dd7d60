"""Writing a bundle from what a service gives out; one that was interrupted goes on where it stopped."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from pydantic import BaseModel, Field

from kg_api.bundle.checking import look_at, measure_blobs
from kg_api.bundle.folder import MANIFEST, UNFINISHED, blob_path, file_name, keys_of
from kg_api.bundle.lines import read_lines
from kg_api.errors import Conflict, FileLost, InvalidInput
from kg_api.files.whole import write_whole
from kg_api.models.bundle.lines import BundledDocument
from kg_api.models.bundle.manifest import BundleOffer, FileOfLines, Manifest
from kg_api.web.limits.json_bounds import check_bounds
from kg_cli.jobs.waiting import patiently

if TYPE_CHECKING:
    from kg_api.client import KgClient

Advance = Callable[[int], None]
"""Told of documents that were written."""


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Tell of what a file system refuses.

    Raises:
        InvalidInput: saying what it said.
    """
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(f"{place} cannot be written: {error.strerror}; the same command goes on") from None


def open_own(path: Path, size: int) -> BinaryIO:
    """A file of lines that an export writes, to go on behind so many bytes; no link is followed.

    Raises:
        Conflict: it is shorter.
    """
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb")
    if file.seek(0, os.SEEK_END) < size:
        file.close()
        raise Conflict(f"{path} is shorter than it was: export to another folder")
    file.seek(size)
    file.truncate()
    return file


class OntologyProgress(BaseModel):
    """How far an ontology is written."""

    path: FileOfLines
    bytes: Annotated[int, Field(ge=0)] = 0
    after: str = ""
    """The last document."""
    done: bool = False
    documents: int = 0


class ExportProgress(BaseModel):
    """What is known of an export that is not finished."""

    asked: list[str] | None
    """Ontologies; None: all."""
    offer: BundleOffer
    files: list[OntologyProgress]
    lost: list[str]


class BundleWriter:
    """Writes a bundle.

    Args:
        client: of the service that has what is exported.
        folder: for the bundle: a new or empty one, or that of an export that was interrupted.
    """

    def __init__(self, client: KgClient, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def begin(self, ontologies: Sequence[str] | None) -> ExportProgress:
        """Begin an export, or go on with one.

        Raises:
            Conflict: there is something else in the folder.
            NotFound: an ontology is not there.
        """
        asked = None if ontologies is None else sorted(set(ontologies))
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._folder / MANIFEST).exists():
            raise Conflict(f"there is a bundle in {self._folder} already: name another folder")
        if (self._folder / UNFINISHED).exists():
            return self._go_on(asked)
        if any(self._folder.iterdir()):
            raise Conflict(f"{self._folder} is not empty: name a new folder")
        offer = self._client.export_offer(asked)
        files = [OntologyProgress(path=file_name(at + 1)) for at in range(len(offer.ontologies))]
        progress = ExportProgress(asked=asked, offer=offer, files=files, lost=[])
        self._save(progress)
        return progress

    def write(self, progress: ExportProgress, advance: Advance) -> Manifest:
        """Write all that is missing, and the manifest last."""
        for each, configuration in zip(progress.files, progress.offer.ontologies, strict=True):
            if not each.done:
                self._write_ontology(progress, each, configuration.ontology, advance)
        manifest = self._manifest(progress)
        content = manifest.model_dump_json(indent=1).encode()
        write_whole(self._folder / MANIFEST, content, prefix=f".{MANIFEST}")
        (self._folder / UNFINISHED).unlink()
        return manifest

    def _go_on(self, asked: list[str] | None) -> ExportProgress:
        try:
            progress = ExportProgress.model_validate_json((self._folder / UNFINISHED).read_bytes())
        except ValueError:
            raise Conflict(f"{self._folder / UNFINISHED} cannot be read: name another folder") from None
        if progress.asked != asked:
            raise Conflict(
                f"an export of other ontologies to {self._folder} is not finished: name another folder"
            )
        return progress

    def _write_ontology(
        self, progress: ExportProgress, each: OntologyProgress, ontology: str, advance: Advance
    ) -> None:
        with open_own(self._folder / each.path, each.bytes) as file:
            while page := patiently(lambda: self._client.export_documents(ontology, after=each.after)):
                names = self._fetch_blobs(page, progress)
                file.write(page)
                file.flush()
                each.bytes += len(page)
                each.after, each.documents = names[-1], each.documents + len(names)
                self._save(progress)
                advance(len(names))
        each.done = True
        self._save(progress)

    def _fetch_blobs(self, page: bytes, progress: ExportProgress) -> list[str]:
        """Fetch the files that a page needs; gives the names of its documents."""
        names, keys = list[str](), dict[str, None]()
        for line in read_lines(page, check_bounds):
            keys.update(dict.fromkeys(keys_of(line)))
            if isinstance(line, BundledDocument):
                names.append(line.document)
        if not names:
            raise InvalidInput("the service answered with lines that are of no document")
        for key in keys:
            self._fetch_blob(key, progress)
        return names

    def _fetch_blob(self, key: str, progress: ExportProgress) -> None:
        path = blob_path(self._folder, key)
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = patiently(lambda: self._client.export_blob(key))
        except FileLost:
            progress.lost = sorted({*progress.lost, key})
            return
        write_whole(path, content, prefix=".part-")

    def _manifest(self, progress: ExportProgress) -> Manifest:
        keys, offer = set[str](), progress.offer
        files = [
            look_at(self._folder / each.path, configuration, check_bounds, keys, lambda _: None)
            for each, configuration in zip(progress.files, offer.ontologies, strict=True)
        ]
        blobs = measure_blobs(self._folder, keys.difference(progress.lost), whole=False)
        waiting = [
            f"{count} documents of {name} that wait for approval" for name, count in offer.waiting.items()
        ]
        return Manifest(
            format=offer.format,
            kg_version=offer.kg_version,
            schema_version=offer.schema_version,
            created_at=dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds"),
            files=files,
            blobs=blobs.model_copy(update={"lost": progress.lost}),
            left_out=[*waiting, *offer.left_out],
        )

    def _save(self, progress: ExportProgress) -> None:
        content = progress.model_dump_json().encode()
        write_whole(self._folder / UNFINISHED, content, prefix=f".{UNFINISHED}")
