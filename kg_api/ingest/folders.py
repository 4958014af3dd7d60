"""Synced folders: registration, scans, and removal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import structlog
from pydantic import TypeAdapter, ValidationError

from kg_api.errors import (
    ConfigurationError,
    FolderEmptied,
    FolderUnusable,
    InvalidInput,
    KgError,
    LeaseLost,
    Unavailable,
    UnreadableDocument,
)
from kg_api.graph import folders
from kg_api.graph.client import Graph, Transaction, split_into_portions
from kg_api.graph.document_writes import (
    AskForExtraction,
    StoreResult,
    build_storing,
    delete_document,
    delete_evidence_in_parts,
    forget_evidence_of_gone,
)
from kg_api.graph.documents import apply_changes, find_different_texts, read_changes
from kg_api.graph.folders import (
    FileMark,
    FolderGone,
    KnownFile,
    NameTaken,
    ScannedFolder,
    find_folder_of_job_id,
    iterate_folder_documents,
    read_known_documents,
)
from kg_api.ingest.folder_listing import (
    RESULT_OF_CHANGE,
    Content,
    FileOutcome,
    FolderAccess,
    FolderListing,
    MountCheck,
    Phase,
    Result,
    ScanPosition,
    UnsettledFile,
    add_results,
    add_same_texts,
    build_rejection,
    compute_file_stamp,
    describe_failure,
    list_folder,
    parse_refusals,
    read_mounts,
    read_settled,
    resolve_inside,
)
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.jobs.runner import JobRun
from kg_api.schemas.base import DocumentName, build_document_id
from kg_api.schemas.documents import DocumentRecord, StoredChange
from kg_api.schemas.folders import (
    SCAN_KIND,
    Folder,
    FolderList,
    FolderRemoved,
    NewFolder,
    RefusedFile,
    ScanTally,
)
from kg_api.text.documents import detect_format
from kg_api.text.files import EMPTY, FileToIngest, is_empty, to_printable

# Inspection of one file: unchanged, unreadable, or a new record

log = structlog.get_logger()

MAX_URI_LENGTH = 4000
_NAME = TypeAdapter[str](DocumentName)


@dataclass(frozen=True, slots=True)
class FileInspection:
    ontology: str
    listing: FolderListing
    max_bytes: int
    reader: DocumentReader
    refused_before: Mapping[str, RefusedFile]
    review: bool  # new documents wait for approval
    pdfs_read_by: str  # PDF settings (OCR engine and storage). A change causes a re-read of PDFs.
    approved: frozenset[tuple[str, str]] = frozenset()
    """Extensions and hashes of renamed files whose documents are approved."""

    def inspect(self, file: FileToIngest, known: KnownFile | None) -> FileOutcome:
        """Inspect a file. Read it if its fingerprint changed, and parse it if its content changed."""
        if known and known.taken_by:
            return build_rejection(file.document, describe_taken_name(file.document, known.taken_by))
        try:
            path = resolve_inside(file.path, self.listing.root, self.listing.is_private)
            remembered = self._recall(file, known, self._as_read(file, compute_file_stamp(path.stat())))
            return remembered or self._read(file, known, path)
        except UnsettledFile:
            return FileOutcome(file.document, "postponed")
        except InvalidInput as error:
            return build_rejection(file.document, str(error))
        except OSError as error:
            return build_rejection(file.document, f"cannot be read: {error.strerror or error}")

    def _recall(self, file: FileToIngest, known: KnownFile | None, stamp: str) -> FileOutcome | None:
        before = self.refused_before.get(file.document)
        if before and before.stamp == stamp:
            return build_rejection(file.document, before.reason, before.stamp)
        if known and known.as_filed and known.stamp == stamp:
            return FileOutcome(file.document, "unchanged")
        return None

    def _read(self, file: FileToIngest, known: KnownFile | None, path: Path) -> FileOutcome:
        found = read_settled(path, self.max_bytes)
        stamp = None if found.stamp is None else self._as_read(file, found.stamp)
        content = replace(found, stamp=stamp, file_hash=self._as_read(file, found.file_hash))
        mark = FileMark(build_document_id(self.ontology, file.document), content.stamp, content.file_hash)
        if known and known.as_filed and known.file_hash == content.file_hash:
            return FileOutcome(file.document, "unchanged", mark=mark)
        try:
            is_approved = (PurePosixPath(file.document).suffix, content.file_hash) in self.approved
            record = self._record(
                file.document, content, path.as_uri(), review=self.review and not is_approved
            )
        except InvalidInput as error:
            return build_rejection(file.document, str(error), content.stamp or "")
        except (Unavailable, ConfigurationError):
            raise
        except Exception as error:  # isolate internal errors, so that one file does not stop the scan
            log.exception("a file cannot be parsed", document=file.document)
            return build_rejection(file.document, describe_failure(error), content.stamp or "")
        return FileOutcome(file.document, None, mark=mark, record=record)

    def _as_read(self, file: FileToIngest, seen: str) -> str:
        return f"{seen}:{self.pdfs_read_by}" if detect_format(file.document) == "pdf" else seen

    def _record(self, document: str, content: Content, uri: str, *, review: bool) -> DocumentRecord:
        try:
            _NAME.validate_python(document)
        except ValidationError as error:
            raise UnreadableDocument(
                f"the file name is not a valid document name: {error.errors()[0]['msg']}"
            ) from None
        if len(uri) > MAX_URI_LENGTH:
            raise UnreadableDocument("the path is too long")
        named = Incoming(self.ontology, document, "", uri=uri, modified=content.modified, review=review)
        incoming, _ = self.reader.from_bytes(content.data, named)
        return to_record(incoming)[0]


def describe_taken_name(document: str, other: str) -> str:
    """Return the message for a name that another folder uses."""
    return (
        f"the name {document!r} is taken by the folder {other}: register one of the two with --prefix, "
        "or in another ontology"
    )


# Folder scan: files first, then documents without a file, each step in a transaction of the job

FILES_A_BATCH = 200
SECONDS_A_BATCH = 2.0
REMOVALS_A_BATCH = 10


class Scan:
    def __init__(
        self,
        graph: Graph,
        run: JobRun,
        folder: ScannedFolder,
        listing: FolderListing,
        max_bytes: int,
        *,
        reader: DocumentReader,
        extract: AskForExtraction | None,
    ) -> None:
        self._graph = graph
        self._run = run
        self._folder = folder
        self._listing = listing
        self._place = ScanPosition.parse(run.cursor)
        self._tally = (folder.progress if run.cursor else None) or ScanTally()
        self._done = 0
        self._total = 0
        self._gone = self._empty = frozenset[str]()
        self._pending_changes = dict[str, str]()  # edits of pending documents without a file, by text hash
        self._mounts = dict[str, str]()
        before = folder.last_scan.refusals if folder.last_scan else ()
        self._extract = extract
        self._looking = FileInspection(
            folder.ontology,
            listing,
            max_bytes,
            reader,
            parse_refusals(before),
            review=folder.review,
            pdfs_read_by=reader.get_pdf_key(),
        )

    def run(self, done: int) -> int:
        """Run the remaining scan, and return the total number of processed files."""
        if self._place.phase == "end":
            return done
        pending = self._graph.read("folders/waiting", folder_id=self._folder.folder_id)
        stored = self._list_stored([row["document"] for row in pending])
        self._check_mounts(stored)
        gone = self._listing.list_gone(stored)
        self._gone = frozenset(gone)
        renamable = (row for row in pending if row["changes"] and row["document"] in self._gone)
        self._pending_changes = {row["text_hash"]: row["changes"] for row in renamable}
        if self._folder.review:
            self._looking = replace(self._looking, approved=self._read_approved_files())
        self._empty = self._find_never_filled_files(stored)
        wanted = (file for file in self._listing.files if file.document not in self._empty)
        left = [file for file in wanted if not self._place.is_done(file.document)]
        to_remove = [name for name in gone if not self._place.is_done(name, "gone")]
        self._done, self._total = done, done + len(left) + len(to_remove)
        for files in split_into_portions(left, FILES_A_BATCH):
            self._take(files)
        for names in split_into_portions(to_remove, REMOVALS_A_BATCH):
            self._remove(names)
        self._conclude()
        return self._done

    def _read_approved_files(self) -> frozenset[tuple[str, str]]:
        """Read the extensions and hashes of renamed files, which need no second approval."""
        gone = [build_document_id(self._folder.ontology, name) for name in self._gone]
        rows = self._graph.read("folders/approved_files", folder_id=self._folder.folder_id, document_ids=gone)
        return frozenset((PurePosixPath(row["document"]).suffix, row["file_hash"]) for row in rows)

    def _list_stored(self, pending: Sequence[str]) -> list[str]:
        stored = [name for _, name in iterate_folder_documents(self._graph, self._folder.folder_id)]
        stored += pending
        if stored and not self._listing.files and not self._folder.allow_empty:
            raise FolderEmptied(
                f"{self._folder.path} contains no file that kg reads, but {len(stored)} documents "
                "came from this folder. Is the folder mounted? Nothing was deleted. If you emptied "
                f"the folder on purpose: kg folders scan {self._folder.folder_id} --allow-empty"
            )
        return stored

    def _check_mounts(self, stored: Sequence[str]) -> None:
        """Keep the documents of a file system that is not mounted."""
        before = self._folder.last_scan.mounts if self._folder.last_scan else {}
        self._mounts = read_mounts(self._listing.root)
        if self._folder.allow_empty:
            return
        check = MountCheck(self._listing, before, self._mounts, stored)
        try:
            check.require_mounted_root()
        except FolderEmptied as error:
            raise FolderEmptied(f"{error}. {self._describe_allow_empty()}") from None
        if absent := check.list_absent():
            absent_files = [
                each._replace(reason=f"{each.reason}. {self._describe_allow_empty()}") for each in absent
            ]
            foreign = tuple(each.document for each in absent if each.path in self._mounts)
            files = [file for file in self._listing.files if not file.document.startswith(foreign)]
            problems = [*self._listing.problems, *absent_files]
            self._listing = replace(self._listing, files=files, problems=problems)
        self._mounts = check.to_remember(absent)

    def _describe_allow_empty(self) -> str:
        return f"If that is meant: kg folders scan {self._folder.folder_id} --allow-empty"

    def _find_never_filled_files(self, stored: Iterable[str]) -> frozenset[str]:
        """Return empty files that never had content, such as `__init__.py`. They are not errors."""
        known = set(stored)
        files = (file for file in self._listing.files if file.document not in known)
        return frozenset(file.document for file in files if is_empty(file.path))

    def _take(self, files: Sequence[FileToIngest]) -> None:
        """Inspect files. Each stored file, and each time limit, ends a transaction."""
        ids = {file.document: build_document_id(self._folder.ontology, file.document) for file in files}
        known = read_known_documents(self._graph, self._folder.folder_id, list(ids.values()))
        batch, begun = list[FileOutcome](), time.monotonic()
        for file in files:
            self._run.checkpoint()
            batch.append(self._looking.inspect(file, known.get(ids[file.document])))
            if batch[-1].record or time.monotonic() - begun > SECONDS_A_BATCH:
                self._commit(batch)
                batch, begun = list[FileOutcome](), time.monotonic()
        if batch:
            self._commit(batch)

    def _commit(self, batch: Sequence[FileOutcome]) -> None:
        try:
            self._write(batch)
        except NameTaken as taken:
            self._write_without_last(batch, describe_taken_name(batch[-1].document, str(taken)))
        except (Unavailable, LeaseLost, FolderGone):
            raise
        except KgError as error:
            self._write_without_last(batch, str(error))

    def _write_without_last(self, batch: Sequence[FileOutcome], reason: str) -> None:
        """Reject the last file of a batch. Only the last file can fail to be stored."""
        self._write([*batch[:-1], build_rejection(batch[-1].document, reason)])

    def _write(self, batch: Sequence[FileOutcome]) -> None:
        refusals = [each.refusal for each in batch if each.refusal]
        records = [each.record for each in batch if each.record]
        if records:
            forget_evidence_of_gone(self._graph, records)
        store_all = build_storing(records, self._extract) if records else None
        tally = self._tally

        def work(tx: Transaction) -> None:
            nonlocal tally
            folders.hold_folder(tx, self._folder.folder_id)
            stored = store_all(tx) if store_all else []
            for record, each in zip(records, stored, strict=True):
                self._keep_changes(tx, record, each.change)
            tally = add_results(self._tally, self._write_marks(tx, batch, stored), refusals)
            changes = [each.change for each in stored]
            names = [each.document for each in records]
            tally = add_same_texts(tally, zip(names, changes, strict=True), self._gone)
            self._record_progress(tx, tally)

        self._advance(work, "file", batch[-1].document, len(batch), set_aside=len(refusals))
        self._tally = tally

    def _keep_changes(self, tx: Transaction, record: DocumentRecord, change: StoredChange) -> None:
        """Keep the edits that users made to a document whose file was renamed."""
        if change.change not in {"created", "waiting"}:
            return
        changes = self._pending_changes.get(record.text_hash)
        if origins := [name for name in change.same_text if name in self._gone]:
            file_name = PurePosixPath(record.document).name
            origin = min(origins, key=lambda name: PurePosixPath(name).name != file_name)
            changes = read_changes(tx, build_document_id(self._folder.ontology, origin))
        if changes:
            apply_changes(tx, record.document_id, changes, waits=change.change == "waiting")

    def _write_marks(
        self, tx: Transaction, batch: Sequence[FileOutcome], stored: Sequence[StoreResult]
    ) -> list[Result]:
        marks = [each.mark for each in batch if each.mark and not each.record]
        folders.touch_documents(tx, self._folder.folder_id, marks)
        taken = [each.mark for each in batch if each.mark and each.record]
        waits = {mark for mark, each in zip(taken, stored, strict=True) if each.change.change == "waiting"}
        folders.take_documents(tx, self._folder.folder_id, [mark for mark in taken if mark not in waits])
        folders.take_waiting(tx, self._folder.folder_id, [mark for mark in taken if mark in waits])
        results = iter(stored)
        return [each.result or RESULT_OF_CHANGE[next(results).change.change] for each in batch]

    def _remove(self, names: Sequence[str]) -> None:
        self._run.checkpoint()
        if not self._listing.is_still_mounted():
            raise FolderUnusable(
                f"{self._folder.path} changed during the scan, as if mounted or replaced. kg deleted "
                "nothing further. The next scan checks again"
            )
        really = {name: self._listing.is_deleted(name) for name in names}
        kept = {name: self._listing.explain_kept(name) for name, is_gone in really.items() if not is_gone}
        refusals = [RefusedFile(document=name, reason=reason) for name, reason in kept.items() if reason]
        deleted = set[str]()
        gone = [build_document_id(self._folder.ontology, name) for name, is_gone in really.items() if is_gone]
        folder_id = self._folder.folder_id
        delete_evidence_in_parts(
            self._graph,
            gone,
            lambda tx, each: bool(tx.run("folders/hold_document", folder_id=folder_id, document_id=each)),
        )

        def work(tx: Transaction) -> None:
            folders.hold_folder(tx, self._folder.folder_id)
            tx.run("folders/forget_waiting", folder_id=self._folder.folder_id, document_ids=sorted(gone))
            for name in (name for name, gone in really.items() if gone):
                identity = build_document_id(self._folder.ontology, name)
                if folders.delete_if_of_folder(tx, self._folder.folder_id, identity):
                    deleted.add(name)  # recorded even if the commit response is lost
            self._record_progress(tx, build_tally())

        def build_tally() -> ScanTally:
            stayed: list[Result] = ["refused" if reason else "postponed" for reason in kept.values()]
            removed: list[Result] = ["removed" for _ in deleted]
            return add_results(self._tally, [*stayed, *removed], refusals)

        self._advance(work, "gone", names[-1], len(names), set_aside=len(refusals))
        self._tally = build_tally()

    def _conclude(self) -> None:
        refusals = [
            RefusedFile(document=to_printable(each.document), reason=each.reason)
            for each in self._listing.problems
        ]
        results: list[Result] = ["refused" for _ in refusals]
        tally = add_results(self._without_former_duplicates(), results, refusals)
        empty = {EMPTY: len(self._empty)} if self._empty else {}
        whole = tally.model_copy(update={"left_out": self._listing.left_out | empty, "mounts": self._mounts})

        def work(tx: Transaction) -> None:
            folders.hold_folder(tx, self._folder.folder_id)
            tx.run("folders/conclude", folder_id=self._folder.folder_id, tally=whole.model_dump_json())

        self._advance(work, "end", "", 0, set_aside=len(refusals))

    def _without_former_duplicates(self) -> ScanTally:
        """Return the tally without duplicates of documents whose files changed later in the scan."""
        tally = self._tally
        if not (tally.duplicate_files and (tally.changed or tally.waiting)):
            return tally
        identify = partial(build_document_id, self._folder.ontology)
        pairs = [(identify(each.document), identify(each.duplicate_of)) for each in tally.duplicate_files]
        different = find_different_texts(self._graph, pairs)
        kept = [each for place, each in enumerate(tally.duplicate_files) if place not in different]
        count = tally.duplicates - len(different)
        return tally.model_copy(update={"duplicates": count, "duplicate_files": kept})

    def _advance(
        self, work: Callable[[Transaction], None], phase: Phase, name: str, done: int, *, set_aside: int
    ) -> None:
        place = ScanPosition(phase, name)
        self._run.commit(work, after=place.cursor(), done=done, set_aside=set_aside)
        self._done += done

    def _record_progress(self, tx: Transaction, tally: ScanTally) -> None:
        job_id = self._run.job.job_id
        folders.record_progress(tx, self._folder.folder_id, job_id, tally, total=self._total)


# Scan job


class FolderSync:
    """Handles jobs of kind `folder_sync`. Memory use is bounded by the file names and one file."""

    kind = SCAN_KIND

    def __init__(
        self,
        graph: Graph,
        access: FolderAccess,
        max_bytes: int,
        reader: DocumentReader,
        extract: AskForExtraction | None = None,
    ) -> None:
        self._graph = graph
        self._access = access
        self._max_bytes = max_bytes
        self._reader = reader
        self._extract = extract

    def run(self, run: JobRun) -> None:
        """Scan the folder, and repeat if another scan was requested in the meantime."""
        done = run.job.done
        while True:
            with contextlib.suppress(FolderGone):
                done = self._scan(run, done)
            if run.finish():
                return

    def _scan(self, run: JobRun, done: int) -> int:
        folder = find_folder_of_job_id(self._graph, run.job.job_id)
        if folder is None:
            raise FolderGone
        granted = self._access.is_granted(folder.path, folder.ontology, folder.grant)
        listing = list_folder(folder.path, folder.prefix, self._access, granted=granted)
        scan = Scan(
            self._graph, run, folder, listing, self._max_bytes, reader=self._reader, extract=self._extract
        )
        return scan.run(done)


# Service


class FolderService:
    """Manages synced folders. Only workers read their files."""

    def __init__(self, graph: Graph, access: FolderAccess) -> None:
        self._graph = graph
        self._access = access

    def add(self, new: NewFolder, grant: str | None = None) -> Folder:
        """Register a folder and request its first scan."""
        granted = self._access.is_granted(new.path, new.ontology, grant)
        if objection := self._access.find_objection(new.path, granted=granted):
            raise InvalidInput(objection)
        return folders.find_folder(self._graph, folders.register(self._graph, new, grant=grant))

    def all(self) -> FolderList:
        return FolderList(folders=folders.list_folders(self._graph))

    def get(self, folder_id: str) -> Folder:
        return folders.find_folder(self._graph, folder_id)

    def scan(self, folder_id: str, *, allow_empty: bool) -> Folder:
        folders.request_scan(self._graph, folder_id, allow_empty=allow_empty)
        return folders.find_folder(self._graph, folder_id)

    def remove(self, folder_id: str, *, delete_documents: bool) -> FolderRemoved:
        """Stop syncing. The registration is deleted last, so that an interrupted removal can be repeated."""
        found = folders.find_folder(self._graph, folder_id)
        folders.begin_removal(self._graph, folder_id)
        documents = [identity for identity, _ in folders.iterate_folder_documents(self._graph, folder_id)]
        deleted = [delete_document(self._graph, each) for each in documents if delete_documents]
        folders.remove(self._graph, folder_id, delete_pending=delete_documents)
        return FolderRemoved(
            folder_id=folder_id,
            path=found.path,
            ontology=found.ontology,
            kept_documents=0 if delete_documents else len(documents),
            deleted_documents=sum(each.documents for each in deleted),
            deleted_sources=sum(each.sources for each in deleted),
        )
