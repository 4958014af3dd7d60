"""Looking at one file: is it as it was, can it be read, what would its document be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from kg_api.errors import ConfigurationError, InvalidInput, Unavailable, UnreadableDocument
from kg_api.graph.documents.folder_scans import FileMark
from kg_api.graph.documents.folders import KnownFile
from kg_api.ingest.reading import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.base import DocumentName
from kg_api.models.identity import document_id
from kg_api.models.library.documents import DocumentRecord
from kg_api.models.library.folders import RefusedFile
from kg_api.parse.documents import format_of
from kg_api.parse.files import FileToIngest
from kg_api.sync.listing import FolderListing
from kg_api.sync.outcome import FileOutcome, reason_of_failure, refuse
from kg_api.sync.pictures import FolderPictures
from kg_api.sync.reading import Content, UnsettledFile, inside, read_settled, stamp_of

log = structlog.get_logger()

MAX_URI_LENGTH = 4000
_NAME = TypeAdapter[str](DocumentName)


@dataclass(frozen=True, slots=True)
class FileInspection:
    """What is needed to look at a folder's files."""

    ontology: str
    listing: FolderListing
    max_bytes: int
    reader: DocumentReader
    refused_before: Mapping[str, RefusedFile]
    review: bool
    """Whether what is to be stored waits for approval."""
    pdfs_read_by: str
    """What becomes of PDFs: one that was refused or half read without OCR, or not kept, is read again."""

    def at(self, file: FileToIngest, known: KnownFile | None) -> FileOutcome:
        """Look at a file: read only when it looks otherwise, parsed only when it says something else.

        Raises:
            Unavailable, ConfigurationError: what files need is away, which says nothing of this one.
        """
        if known and known.taken_by:
            return refuse(file.document, name_taken(file.document, known.taken_by))
        try:
            path = inside(file.path, self.listing.root, self.listing.is_private)
            remembered = self._recall(file, known, self._as_read(file, stamp_of(path.stat())))
            return remembered or self._read(file, known, path)
        except UnsettledFile:
            return FileOutcome(file.document, "postponed")
        except InvalidInput as error:
            return refuse(file.document, str(error))
        except OSError as error:
            return refuse(file.document, f"cannot be read: {error.strerror or error}")

    def _recall(self, file: FileToIngest, known: KnownFile | None, stamp: str) -> FileOutcome | None:
        before = self.refused_before.get(file.document)
        if before and before.stamp == stamp + self._pictures.stamp(file, before.stamp):
            return refuse(file.document, before.reason, before.stamp)
        if known and known.as_filed and known.stamp == stamp + self._pictures.stamp(file, known.stamp):
            return FileOutcome(file.document, "unchanged")
        return None

    def _read(self, file: FileToIngest, known: KnownFile | None, path: Path) -> FileOutcome:
        content, beside = self._content(file, path)
        mark = FileMark(document_id(self.ontology, file.document), content.stamp, content.file_hash)
        if known and known.as_filed and known.file_hash == content.file_hash:
            return FileOutcome(file.document, "unchanged", mark=mark)
        try:
            record = self._record(file.document, content, path.as_uri(), beside)
        except InvalidInput as error:
            return refuse(file.document, str(error), content.stamp or "")
        except (Unavailable, ConfigurationError):
            raise
        except Exception as error:  # the border of a file: one that kg fails on must not stop all others
            log.exception("a file cannot be parsed", document=file.document)
            return refuse(file.document, reason_of_failure(error), content.stamp or "")
        return FileOutcome(file.document, None, mark=mark, record=record)

    def _content(self, file: FileToIngest, path: Path) -> tuple[Content, Mapping[str, bytes]]:
        """A file, and the pictures that it names."""
        found = read_settled(path, self.max_bytes)
        pictures = self._pictures.read(file, found.data)
        settled = found.stamp is not None and pictures.stamp is not None
        stamp = f"{self._as_read(file, found.stamp or '')}{pictures.stamp}" if settled else None
        file_hash = self._as_read(file, found.file_hash) + pictures.file_hash
        return Content(found.data, stamp, file_hash, found.modified), pictures.files

    @property
    def _pictures(self) -> FolderPictures:
        return FolderPictures(self.listing, self.max_bytes)

    def _as_read(self, file: FileToIngest, seen: str) -> str:
        return f"{seen}:{self.pdfs_read_by}" if format_of(file.document) == "pdf" else seen

    def _record(
        self, document: str, content: Content, uri: str, beside: Mapping[str, bytes]
    ) -> DocumentRecord:
        _check_name(document, uri)
        named = Incoming(self.ontology, document, "", uri=uri, modified=content.modified, review=self.review)
        incoming, _ = self.reader.from_bytes(content.data, named, beside)
        return to_record(incoming)[0]


def name_taken(document: str, other: str) -> str:
    """What to tell of a file whose name another folder has."""
    return (
        f"the name {document!r} is taken by the folder {other}: register one of the two with --prefix, "
        "or in another ontology"
    )


def _check_name(document: str, uri: str) -> None:
    try:
        _NAME.validate_python(document)
    except ValidationError as error:
        raise UnreadableDocument(f"its name cannot be a document's: {error.errors()[0]['msg']}") from None
    if len(uri) > MAX_URI_LENGTH:
        raise UnreadableDocument("its path is too long")
