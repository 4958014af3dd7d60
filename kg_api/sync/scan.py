"""One scan of a folder: file by file, then what has gone; every step in a transaction of its job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kg_api.errors import FolderEmptied, FolderUnusable, KgError, LeaseLost, Unavailable
from kg_api.graph.database import Graph, Transaction, portions
from kg_api.graph.documents import folder_scans as store
from kg_api.graph.documents.deleting import forget_evidence_of
from kg_api.graph.documents.folder_scans import FolderGone, NameTaken, ScannedFolder
from kg_api.graph.documents.folders import documents_of, read_known_documents, waiting_of
from kg_api.graph.documents.writes import (
    AskForExtraction,
    StoreResult,
    forget_evidence_of_gone,
    storing,
)
from kg_api.ingest.reading import DocumentReader
from kg_api.jobs.run import JobRun
from kg_api.models.identity import document_id
from kg_api.models.library.folders import RefusedFile, ScanTally
from kg_api.parse.files import FileToIngest, is_empty, to_printable
from kg_api.parse.rules import EMPTY
from kg_api.sync.cursor import Phase, ScanPosition
from kg_api.sync.listing import FolderListing
from kg_api.sync.look import FileInspection, name_taken
from kg_api.sync.mounts import MountCheck, read_mounts
from kg_api.sync.outcome import (
    RESULT_OF_CHANGE,
    FileOutcome,
    Result,
    add_same_texts,
    add_up,
    refuse,
    remembered,
)

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
        self._place = ScanPosition.of(run.cursor)
        self._tally = (folder.progress if run.cursor else None) or ScanTally()
        self._done = 0
        self._total = 0
        self._gone = self._empty = frozenset[str]()
        self._mounts = dict[str, str]()
        before = folder.last_scan.refusals if folder.last_scan else ()
        self._extract = extract
        self._looking = FileInspection(
            folder.ontology,
            listing,
            max_bytes,
            reader,
            remembered(before),
            review=folder.review,
            pdfs_read_by=reader.pdfs_read_by(),
        )

    def run(self, done: int) -> int:
        """Do what is left of the scan.

        Args:
            done: how many items of the job were done before.

        Returns:
            How many are done now.

        Raises:
            FolderUnusable: the folder looks as if it were not there; nothing is removed.
            FolderGone: it is registered no more.
        """
        if self._place.phase == "end":
            return done
        stored = self._stored()
        self._check_mounts(stored)
        gone = self._listing.gone(stored)
        self._gone = frozenset(gone)
        self._empty = self._new_and_empty(stored)
        wanted = (file for file in self._listing.files if file.document not in self._empty)
        left = [file for file in wanted if not self._place.is_done(file.document)]
        self._done, self._total = done, done + len(left) + len(gone)
        for files in portions(left, FILES_A_BATCH):
            self._take(files)
        for names in portions(gone, REMOVALS_A_BATCH):
            self._remove(names)
        self._conclude()
        return self._done

    def _stored(self) -> list[str]:
        """The names of the folder's documents.

        Raises:
            FolderEmptied: their files have all gone: the folder may be one that is not mounted.
        """
        stored = [name for _, name in documents_of(self._graph, self._folder.folder_id)]
        stored += waiting_of(self._graph, self._folder.folder_id)
        if stored and not self._listing.files and not self._folder.allow_empty:
            raise FolderEmptied(
                f"{self._folder.path} holds no file that kg reads, but {len(stored)} documents came from it: "
                "is it mounted? Nothing was removed. If it was cleared on purpose: "
                f"kg folders scan {self._folder.folder_id} --allow-empty"
            )
        return stored

    def _check_mounts(self, stored: Sequence[str]) -> None:
        """Keep the documents of a file system that is not mounted.

        Raises:
            FolderEmptied: it is the one of the folder itself.
        """
        before = self._folder.last_scan.mounts if self._folder.last_scan else {}
        self._mounts = read_mounts(self._listing.root)
        if self._folder.allow_empty:
            return
        check = MountCheck(self._listing, before, self._mounts, stored)
        try:
            check.refuse_absent_root()
        except FolderEmptied as error:
            raise FolderEmptied(f"{error}. {self._if_meant()}") from None
        if absent := check.list_absent():
            told = [each._replace(reason=f"{each.reason}. {self._if_meant()}") for each in absent]
            foreign = tuple(each.document for each in absent if each.path in self._mounts)
            files = [file for file in self._listing.files if not file.document.startswith(foreign)]
            problems = [*self._listing.problems, *told]
            self._listing = replace(self._listing, files=files, problems=problems)
        self._mounts = check.to_remember(absent)

    def _if_meant(self) -> str:
        return f"If that is meant: kg folders scan {self._folder.folder_id} --allow-empty"

    def _new_and_empty(self, stored: Iterable[str]) -> frozenset[str]:
        """Files that say nothing and never did: `__init__.py` and their like are no fault of anybody."""
        known = set(stored)
        files = (file for file in self._listing.files if file.document not in known)
        return frozenset(file.document for file in files if is_empty(file.path))

    def _take(self, files: Sequence[FileToIngest]) -> None:
        """Look at files; each that is stored ends a transaction, and so does some time."""
        ids = {file.document: document_id(self._folder.ontology, file.document) for file in files}
        known = read_known_documents(self._graph, self._folder.folder_id, list(ids.values()))
        batch, begun = list[FileOutcome](), time.monotonic()
        for file in files:
            self._run.checkpoint()
            batch.append(self._looking.at(file, known.get(ids[file.document])))
            if batch[-1].record or time.monotonic() - begun > SECONDS_A_BATCH:
                self._commit(batch)
                batch, begun = list[FileOutcome](), time.monotonic()
        if batch:
            self._commit(batch)

    def _commit(self, batch: Sequence[FileOutcome]) -> None:
        try:
            self._write(batch)
        except NameTaken as taken:
            self._write_without_last(batch, name_taken(batch[-1].document, str(taken)))
        except (Unavailable, LeaseLost, FolderGone):
            raise
        except KgError as error:
            self._write_without_last(batch, str(error))

    def _write_without_last(self, batch: Sequence[FileOutcome], reason: str) -> None:
        """Set aside what could not be stored: only the last one of a batch ever is."""
        self._write([*batch[:-1], refuse(batch[-1].document, reason)])

    def _write(self, batch: Sequence[FileOutcome]) -> None:
        refusals = [each.refusal for each in batch if each.refusal]
        records = [each.record for each in batch if each.record]
        if records:
            forget_evidence_of_gone(self._graph, records)
        store_all = storing(records, self._extract) if records else None
        tally = self._tally

        def work(tx: Transaction) -> None:
            nonlocal tally
            store.hold_folder(tx, self._folder.folder_id)
            stored = store_all(tx) if store_all else []
            tally = add_up(self._tally, self._write_marks(tx, batch, stored), refusals)
            changes = [each.change for each in stored]
            names = [each.document for each in records]
            tally = add_same_texts(tally, zip(names, changes, strict=True), self._gone)
            self._record_progress(tx, tally)

        self._advance(work, "file", batch[-1].document, len(batch), set_aside=len(refusals))
        self._tally = tally

    def _write_marks(
        self, tx: Transaction, batch: Sequence[FileOutcome], stored: Sequence[StoreResult]
    ) -> list[Result]:
        """Remember what the files look like; give what became of each that was looked at."""
        marks = [each.mark for each in batch if each.mark and not each.record]
        store.touch_documents(tx, self._folder.folder_id, marks)
        taken = [each.mark for each in batch if each.mark and each.record]
        waits = {mark for mark, each in zip(taken, stored, strict=True) if each.change.change == "waiting"}
        store.take_documents(tx, self._folder.folder_id, [mark for mark in taken if mark not in waits])
        store.take_waiting(tx, self._folder.folder_id, [mark for mark in taken if mark in waits])
        results = iter(stored)
        return [each.result or RESULT_OF_CHANGE[next(results).change.change] for each in batch]

    def _remove(self, names: Sequence[str]) -> None:
        self._run.checkpoint()
        if not self._listing.is_still_there():
            raise FolderUnusable(
                f"{self._folder.path} changed while it was scanned, as if it had been mounted or replaced: "
                "nothing more was removed; the next scan looks again"
            )
        really = {name: self._listing.has_gone(name) for name in names}
        deleted = set[str]()
        gone = [document_id(self._folder.ontology, name) for name, has_gone in really.items() if has_gone]
        folder_id = self._folder.folder_id
        forget_evidence_of(self._graph, gone, lambda tx, each: store.is_of_folder(tx, folder_id, each))

        def work(tx: Transaction) -> None:
            store.hold_folder(tx, self._folder.folder_id)
            store.forget_waiting(tx, self._folder.folder_id, gone)
            for name in (name for name, gone in really.items() if gone):
                identity = document_id(self._folder.ontology, name)
                if store.delete_if_of_folder(tx, self._folder.folder_id, identity):
                    deleted.add(
                        name
                    )  # also when the answer to the commit is lost, and it is gone the next time
            self._record_progress(tx, self._with_removed(really, deleted))

        self._advance(work, "gone", names[-1], len(names))
        self._tally = self._with_removed(really, deleted)

    def _with_removed(self, really: dict[str, bool], deleted: set[str]) -> ScanTally:
        back: list[Result] = ["postponed" for gone in really.values() if not gone]
        removed: list[Result] = ["removed" for _ in deleted]
        return add_up(self._tally, [*back, *removed])

    def _conclude(self) -> None:
        refusals = [
            RefusedFile(document=to_printable(each.document), reason=each.reason)
            for each in self._listing.problems
        ]
        results: list[Result] = ["refused" for _ in refusals]
        tally = add_up(self._tally, results, refusals)
        empty = {EMPTY: len(self._empty)} if self._empty else {}
        whole = tally.model_copy(update={"left_out": self._listing.left_out | empty, "mounts": self._mounts})

        def work(tx: Transaction) -> None:
            store.hold_folder(tx, self._folder.folder_id)
            store.conclude(tx, self._folder.folder_id, whole)

        self._advance(work, "end", "", 0, set_aside=len(refusals))

    def _advance(
        self, work: Callable[[Transaction], None], phase: Phase, name: str, done: int, *, set_aside: int = 0
    ) -> None:
        place = ScanPosition(phase, name)
        self._run.commit(work, after=place.cursor(), done=done, set_aside=set_aside)
        self._done += done

    def _record_progress(self, tx: Transaction, tally: ScanTally) -> None:
        job_id = self._run.job.job_id
        store.record_progress(tx, self._folder.folder_id, job_id, tally, total=self._total)
