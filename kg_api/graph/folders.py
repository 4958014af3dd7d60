"""Synced folders: their registration, pending scans, and documents."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from kg_api.errors import Conflict, KgError, NotFound
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.document_writes import delete_document_in_transaction
from kg_api.graph.jobs import request_job
from kg_api.graph.rows import convert_times
from kg_api.schemas.folders import (
    MAX_REFUSALS_SHOWN,
    SCAN_KIND,
    Folder,
    NewFolder,
    ScanTally,
    build_folder_id,
    overlap,
)

DOCUMENTS_A_PORTION = 1000


def register(graph: Graph, new: NewFolder, *, grant: str | None = None) -> str:
    """Register a folder, and request its first scan."""
    registration_id = uuid.uuid4().hex
    return graph.transaction(lambda tx: _register(tx, new, registration_id, grant))


def _register(tx: Transaction, new: NewFolder, registration_id: str, grant: str | None) -> str:
    """Register a folder. After a lost response, the repeated transaction finds its own `registration_id`."""
    identity = build_folder_id(new.path, new.ontology)
    tx.run("folders/hold_ontology", ontology=new.ontology)
    others = tx.run("folders/registered", ontology=new.ontology)
    if any(other["registered_by"] == registration_id for other in others):
        return identity
    for other in others:
        _reject_overlap(new, other["path"])
    properties = {**new.model_dump(), "registered_by": registration_id, "grant": grant}
    tx.run("folders/register", folder_id=identity, properties=properties)
    _replace_job(tx, identity, new.ontology, allow_empty=False)
    return identity


def _reject_overlap(new: NewFolder, other: str) -> None:
    if new.path == other:
        raise Conflict(
            f"{other} is already synced to {new.ontology}. To scan now, run `kg folders scan`. To "
            "change its options, run `kg folders remove` first"
        )
    if overlap(new.path, other):
        raise Conflict(
            f"{other} is already synced to {new.ontology}, and one folder contains the other, so "
            "files would be ingested twice. Choose another ontology, or run `kg folders remove` for "
            "the other folder first"
        )


def request_scan(graph: Graph, identity: str, *, allow_empty: bool = False) -> str:
    """Request a scan now. Return the id of the new job, or of the job that is still unfinished."""
    folder = find_folder(graph, identity)

    def request(tx: Transaction) -> str | None:
        locked = tx.run("folders/hold", folder_id=identity)
        return _replace_job(tx, identity, folder.ontology, allow_empty=allow_empty) if locked else None

    job_id = graph.transaction(request)
    if job_id is None:
        raise _report_unknown(identity)
    return job_id


def enqueue_due(graph: Graph) -> int:
    """Request the pending scans, by the clock of the database. Return their number."""
    # Several schedulers can run this in parallel, so each locks a folder and checks it again before creating
    # the job. Folders with a running scan are skipped.
    due = graph.read("folders/due")

    def enqueue(tx: Transaction, row: Row) -> bool:
        locked = tx.run("folders/hold", folder_id=row["folder_id"])
        if is_due := bool(locked) and locked[0]["due"]:
            _replace_job(tx, row["folder_id"], row["ontology"], allow_empty=False)
        return is_due

    return sum(graph.transaction(partial(enqueue, row=row)) for row in due)


def _replace_job(tx: Transaction, identity: str, ontology: str, *, allow_empty: bool) -> str:
    """Request the scan job of a folder, of which there is only one. A finished job is replaced."""
    tx.run("folders/forget_job", folder_id=identity)
    job_id = request_job(tx, SCAN_KIND, ontology, added=0, about=identity, limited=False)
    tx.run("folders/use_job", folder_id=identity, job_id=job_id, allow_empty=allow_empty)
    return job_id


def list_folders(graph: Graph) -> list[Folder]:
    return [_build_folder(row) for row in graph.read("folders/list", folder_id=None)]


def find_folder(graph: Graph, identity: str) -> Folder:
    rows = graph.read("folders/list", folder_id=identity)
    if not rows:
        raise _report_unknown(identity)
    return _build_folder(rows[0])


def _report_unknown(identity: str) -> NotFound:
    return NotFound(f"folder {identity!r} not found. `kg folders list` shows the existing ones")


def _build_folder(row: Row) -> Folder:
    error = row["error"] and re.sub(r"^[A-Z]\w+: ", "", row["error"])
    row = convert_times(row)
    if row["last_scan"] is not None:
        tally: dict[str, Any] = json.loads(row["last_scan"])
        refusals = tally["refusals"][:MAX_REFUSALS_SHOWN]
        row["last_scan"] = {**tally, "refusals": refusals, "finished_at": row["scanned_at"]}
    return Folder.model_validate({**row, "error": error})


def begin_removal(graph: Graph, identity: str) -> None:
    """Block scans from writing to a folder."""
    graph.write("folders/begin_removal", folder_id=identity)


def remove(graph: Graph, identity: str, *, delete_pending: bool) -> None:
    """Delete a folder, and its pending documents if requested. Its other documents stay."""
    graph.write("folders/leave_waiting", folder_id=identity, delete_pending=delete_pending)
    graph.write("folders/remove", folder_id=identity)


def iterate_folder_documents(graph: Graph, identity: str) -> Iterator[tuple[str, str]]:
    """Yield the id and name of each document of a folder, sorted by id."""
    after = ""
    while rows := graph.read("folders/documents", folder_id=identity, after=after, limit=DOCUMENTS_A_PORTION):
        yield from ((row["document_id"], row["document"]) for row in rows)
        after = rows[-1]["document_id"]


@dataclass(frozen=True, slots=True)
class KnownFile:
    as_filed: bool  # whether the document belongs to this folder and is unchanged since its ingestion
    stamp: str | None  # fingerprint of the file, equal if the content is unchanged
    file_hash: str | None
    taken_by: str | None  # another folder to which the document belongs


def read_known_documents(graph: Graph, identity: str, document_ids: Sequence[str]) -> dict[str, KnownFile]:
    rows = graph.read("folders/known", folder_id=identity, document_ids=list(document_ids))
    return {row.pop("document_id"): KnownFile(**row) for row in rows}


# Writes of a scan: each runs in a transaction of its job, and can be repeated safely


class FolderGone(KgError):
    """The folder is no longer registered, so its scan ends."""


class NameTaken(Conflict):
    """Another folder has a document with this name."""


@dataclass(frozen=True, slots=True)
class ScannedFolder:
    folder_id: str
    path: str
    ontology: str
    prefix: str
    grant: str | None  # grant with which the user of this home requested the sync
    review: bool  # whether new and changed documents wait for approval
    allow_empty: bool
    progress: ScanTally | None  # counts of an interrupted scan
    last_scan: ScanTally | None


@dataclass(frozen=True, slots=True)
class FileMark:
    document_id: str
    stamp: str | None
    file_hash: str


def find_folder_of_job_id(graph: Graph, job_id: str) -> ScannedFolder | None:
    """Find the folder that a job scans, or return None if the folder is no longer registered."""
    rows = graph.read("folders/of_job", job_id=job_id)
    if not rows:
        return None
    tallies: Row = {
        name: rows[0][name] and ScanTally.model_validate_json(rows[0][name])
        for name in ("progress", "last_scan")
    }
    return ScannedFolder(**{**rows[0], **tallies})


def hold_folder(tx: Transaction, folder_id: str) -> None:
    if not tx.run("folders/hold", folder_id=folder_id):
        raise FolderGone


def take_documents(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Assign documents to the folder, and store fingerprints for their files."""
    rows = [asdict(mark) for mark in marks]
    for row in tx.run("folders/take_documents", folder_id=folder_id, rows=rows) if rows else ():
        raise NameTaken(row["taken_by"])


def touch_documents(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Update the fingerprints of files with unchanged content."""
    rows = [asdict(mark) for mark in sorted(marks, key=lambda mark: mark.document_id)]
    if rows:
        tx.run("folders/touch_documents", folder_id=folder_id, rows=rows)


def take_waiting(tx: Transaction, folder_id: str, marks: Sequence[FileMark]) -> None:
    """Assign pending documents to the folder."""
    if marks:
        tx.run("folders/take_waiting", folder_id=folder_id, rows=[asdict(mark) for mark in marks])


def delete_if_of_folder(tx: Transaction, folder_id: str, document_id: str) -> bool:
    """Delete a document if it belongs to the folder, with concepts that are not in other documents."""
    if not tx.run("folders/hold_document", folder_id=folder_id, document_id=document_id):
        return False
    return delete_document_in_transaction(tx, document_id).documents > 0


def record_progress(tx: Transaction, folder_id: str, job_id: str, tally: ScanTally, *, total: int) -> None:
    parameters = {"folder_id": folder_id, "job_id": job_id, "total": total}
    tx.run("folders/tell_progress", **parameters, tally=tally.model_dump_json())
