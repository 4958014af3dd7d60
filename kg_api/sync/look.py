"""Looking at one file: is it as it was, can it be read, what would its document be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from kg_api.errors import InvalidInput, UnreadableDocument
from kg_api.graph.documents import forget_evidence_of_gone, storing
from kg_api.graph.folder_scans import FileMark
from kg_api.graph.folders import Known
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.base import DocumentName
from kg_api.models.documents import DocumentRecord
from kg_api.models.folders import RefusedFile
from kg_api.models.identity import document_id
from kg_api.parse.decode import decode
from kg_api.parse.files import FileToIngest
from kg_api.sync.listing import Listing
from kg_api.sync.outcome import Outcome, refused
from kg_api.sync.reading import Content, Unsettled, inside, read_settled, stamp_of

log = structlog.get_logger()

LONGEST_URI = 4000
_NAME = TypeAdapter[str](DocumentName)


@dataclass(frozen=True, slots=True)
class Looking:
    """What is needed to look at a folder's files."""

    ontology: str
    listing: Listing
    most_bytes: int
    refused_before: Mapping[str, RefusedFile]

    def at(self, file: FileToIngest, known: Known | None) -> Outcome:
        """Look at a file: read only when it looks otherwise, parsed only when it says something else."""
        if known and known.taken_by:
            return refused(file.document, name_taken(file.document, known.taken_by))
        try:
            path = inside(file.path, self.listing.root, self.listing.is_private)
            remembered = self._remembered(file, known, stamp_of(path.stat()))
            return remembered or self._read(file, known, path)
        except Unsettled:
            return Outcome(file.document, "postponed")
        except InvalidInput as error:
            return refused(file.document, str(error))
        except OSError as error:
            return refused(file.document, f"cannot be read: {error.strerror or error}")

    def _remembered(self, file: FileToIngest, known: Known | None, stamp: str) -> Outcome | None:
        before = self.refused_before.get(file.document)
        if before and before.stamp == stamp:
            return refused(file.document, before.reason, stamp)
        if known and known.as_filed and known.stamp == stamp:
            return Outcome(file.document, "unchanged")
        return None

    def _read(self, file: FileToIngest, known: Known | None, path: Path) -> Outcome:
        content = read_settled(path, self.most_bytes)
        mark = FileMark(document_id(self.ontology, file.document), content.stamp, content.file_hash)
        if known and known.as_filed and known.file_hash == content.file_hash:
            return Outcome(file.document, "unchanged", mark=mark)
        try:
            record = self._record(file.document, content, path.as_uri())
        except InvalidInput as error:
            return refused(file.document, str(error), content.stamp or "")
        except Exception as error:  # the border of a file: one that kg fails on must not stop all others
            log.exception("a file cannot be parsed", document=file.document)
            reason = f"kg failed on it ({type(error).__name__}): see the worker's log, and please report it"
            return refused(file.document, reason, content.stamp or "")
        prepare = partial(forget_evidence_of_gone, record=record)
        return Outcome(file.document, None, mark=mark, store=storing(record), prepare=prepare)

    def _record(self, document: str, content: Content, uri: str) -> DocumentRecord:
        _check_name(document, uri)
        text, _ = decode(content.data)
        return to_record(Incoming(self.ontology, document, text, uri=uri))[0]


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
    if len(uri) > LONGEST_URI:
        raise UnreadableDocument("its path is too long")
