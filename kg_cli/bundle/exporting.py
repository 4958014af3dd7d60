"""Writing a bundle from what a service gives out; one that was interrupted goes on where it stopped."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from pydantic import BaseModel, Field

from kg_api.bundle.checking import look_at, measure_blobs
from kg_api.bundle.folder import MANIFEST, UNFINISHED, blob_path, file_name
from kg_api.errors import Conflict, FileLost, InvalidInput
from kg_api.files.whole import write_whole
from kg_api.models.bundle.manifest import BundledFile, BundledOntology, BundleOffer, FileOfLines, Manifest
from kg_api.web.limits.json_bounds import check_bounds
from kg_cli.bundle.pages import ChangedBetweenParts, EmbeddedOtherwise, ExportedPage, OntologyPages
from kg_cli.jobs.waiting import patiently
from kg_cli.terminal import console

if TYPE_CHECKING:
    from kg_api.client import KgClient

Advance = Callable[[int], None]
"""Told of documents that were written."""
LOOKS = 5
"""So often is read again what was changed meanwhile."""


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
        """Write all that is missing, and the manifest last.

        Raises:
            Conflict: an ontology was deleted meanwhile, or changes faster than it can be read.
        """
        for at, each in enumerate(progress.files):
            if not each.done:
                self._write_ontology(progress, at, advance)
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

    def _write_ontology(self, progress: ExportProgress, at: int, advance: Advance) -> None:
        """Write an ontology to its end; from its beginning again where it is embedded otherwise meanwhile."""
        each, name = progress.files[at], progress.offer.ontologies[at].ontology
        for _ in range(LOOKS):
            with suppress(EmbeddedOtherwise):
                self._write_pages(progress, at, advance)
                return
            console.say(f"{name} is embedded in another way now: it is exported from its beginning again")
            progress.offer.ontologies[at] = patiently(lambda: self._client.export_offer([name])).ontologies[0]
            advance(-each.documents)
            each.bytes, each.after, each.documents = 0, "", 0
            self._save(progress)
        raise Conflict(f"how {name} is embedded changes faster than it can be exported: try again later")

    def _write_pages(self, progress: ExportProgress, at: int, advance: Advance) -> None:
        each = progress.files[at]
        pages = OntologyPages(self._client, progress.offer.ontologies[at])
        with open_own(self._folder / each.path, each.bytes) as file:
            while page := self._write_page(file, pages, each):
                for key in page.keys:
                    self._fetch_blob(key, progress)
                file.flush()
                os.fsync(file.fileno())
                each.bytes = file.tell()
                each.after, each.documents = page.documents[-1].document, each.documents + len(page.documents)
                self._save(progress)
                advance(len(page.documents))
        each.done = True
        self._save(progress)

    def _write_page(
        self, file: BinaryIO, pages: OntologyPages, each: OntologyProgress
    ) -> ExportedPage | None:
        """The next documents, as they were at one moment; None: there are none."""
        for _ in range(LOOKS):
            if (page := pages.behind(each.after)) is None:
                return None
            with suppress(ChangedBetweenParts):
                file.write(page.lines)
                file.writelines(pages.parts(each.after, page.large) if page.large else ())
                return page
            file.seek(each.bytes)
            file.truncate()
        raise Conflict("a document changes faster than it can be exported: try again later")

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
            self._look_at(each.path, configuration, keys)
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

    def _look_at(self, path: str, configuration: BundledOntology, keys: set[str]) -> BundledFile:
        try:
            return look_at(self._folder / path, configuration, check_bounds, keys, lambda _: None)
        except InvalidInput as error:
            raise Conflict(f"what was exported is not whole: {error}; export to another folder") from None

    def _save(self, progress: ExportProgress) -> None:
        content = progress.model_dump_json().encode()
        write_whole(self._folder / UNFINISHED, content, prefix=f".{UNFINISHED}")
