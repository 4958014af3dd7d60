"""What a scan of a folder writes: each within a transaction of its job, safe to repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kg_api.errors import Conflict, KgError
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.documents.deleting import delete_document_in
from kg_api.models.library.folders import ScanTally


class FolderGone(KgError):
    """The folder is registered no more; its scan ends."""


class NameTaken(Conflict):
    """Another folder has a document of that name."""


@dataclass(frozen=True, slots=True)
class ScannedFolder:
    """A folder as its scan sees it."""

    folder_id: str
    path: str
    ontology: str
    prefix: str
    grant: str | None
    """By which its home's own user asked for it."""
    review: bool
    """Whether what is new or changed waits for approval."""
    allow_empty: bool
    progress: ScanTally | None
    """Of a scan that was interrupted."""
    last_scan: ScanTally | None


@dataclass(frozen=True, slots=True)
class FileMark:
    """What shall be remembered of the file behind a document."""

    document_id: str
    stamp: str | None
    file_hash: str


def folder_of_job(graph: Graph, job_id: str) -> ScannedFolder | None:
    """The folder that a job shall scan; None when it is registered no more."""
    rows = graph.read("folders/of_job", job_id=job_id)
    if not rows:
        return None
    row = rows[0]
    row["progress"], row["last_scan"] = _tally(row["progress"]), _tally(row["last_scan"])
    return ScannedFolder(**row)


def _tally(stored: str | None) -> ScanTally | None:
    return None if stored is None else ScanTally.model_validate_json(stored)


def hold_folder(tx: Transaction, folder_id: str) -> None:
    """Hold a folder until the end of the transaction.

    Raises:
        FolderGone: it is registered no more; the transaction must not be committed.
    """
    if not tx.run("folders/hold", folder_id=folder_id):
        raise FolderGone


def take_documents(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Make documents the folder's and remember what their files look like.

    Raises:
        NameTaken: one is another folder's; the transaction must not be committed.
    """
    rows = [asdict(mark) for mark in marks]
    for row in tx.run("folders/take_documents", folder_id=folder_id, rows=rows) if rows else ():
        raise NameTaken(row["taken_by"])


def touch_documents(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Remember anew what files look like that say the same as before."""
    rows = [asdict(mark) for mark in sorted(marks, key=lambda mark: mark.document_id)]
    if rows:
        tx.run("folders/touch_documents", folder_id=folder_id, rows=rows)


def take_waiting(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Make documents that wait the folder's."""
    if marks:
        tx.run("folders/take_waiting", folder_id=folder_id, rows=[asdict(mark) for mark in marks])


def forget_waiting(tx: Transaction, folder_id: str, document_ids: Sequence[str]) -> None:
    """Let nothing wait whose file has gone."""
    tx.run("folders/forget_waiting", folder_id=folder_id, document_ids=sorted(document_ids))


def is_of_folder(tx: Transaction, folder_id: str, document_id: str) -> bool:
    """Whether a document came from the folder; if so, it is held."""
    return bool(tx.run("folders/hold_document", folder_id=folder_id, document_id=document_id))


def delete_if_of_folder(tx: Transaction, folder_id: str, document_id: str) -> bool:
    """Delete a document with everything that only it supported, if it came from the folder."""
    if not is_of_folder(tx, folder_id, document_id):
        return False
    return delete_document_in(tx, document_id).documents > 0


def record_progress(tx: Transaction, folder_id: str, job_id: str, tally: ScanTally, *, total: int) -> None:
    """Store what the scan has done so far, and how many files it has in all."""
    tx.run(
        "folders/tell_progress",
        folder_id=folder_id,
        job_id=job_id,
        tally=tally.model_dump_json(),
        total=total,
    )


def conclude(tx: Transaction, folder_id: str, tally: ScanTally) -> None:
    """Store what the whole scan did; the next one is due so long after now."""
    tx.run("folders/conclude", folder_id=folder_id, tally=tally.model_dump_json())
