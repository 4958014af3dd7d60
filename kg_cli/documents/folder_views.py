"""Followed folders as a person names them, waits for them and sees them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.schemas.folders import (
    MAX_SCAN_SECONDS,
    MIN_SCAN_SECONDS,
    Folder,
    FolderList,
    FolderRemoved,
    FolderScan,
)
from kg_api.schemas.operations import FINISHED
from kg_api.text.files import to_printable
from kg_api.wording import pluralize
from kg_cli.documents.ingestion import describe_duplicates
from kg_cli.jobs.report import wait_for_jobs, wait_until_embedded
from kg_cli.terminal import console

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
REFUSALS_LISTED = 5
COUNTED = ("added", "changed", "unchanged", "removed", "refused")


def absolute(path: Path, *, elsewhere: bool) -> str:
    """The folder as the worker shall find it.

    Raises:
        InvalidInput: it is not on this machine, and nobody said that it need not be.
    """
    if elsewhere:
        return str(path)
    where = path.expanduser().resolve()
    if where.is_file():
        raise InvalidInput(f"{to_printable(where)} is a file; kg folders follows folders")
    if not where.is_dir():
        raise InvalidInput(
            f"{to_printable(where)}: no such folder on this machine; on the worker's: use --elsewhere"
        )
    return str(where)


def seconds_of(time: str) -> int:
    """A time as people write it: 30s, 5m, 2h, 1d; without a letter it is in seconds.

    Raises:
        InvalidInput: it is not written so.
    """
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", time.strip().lower())
    if found is None:
        raise InvalidInput(f"{time!r} is not a duration: write it as 30s, 5m, 2h or 1d")
    return int(found[1]) * SECONDS[found[2] or "s"]


def interval_of(time: str) -> int:
    """The time between two scans of a folder, as in `seconds_of`.

    Raises:
        InvalidInput: it is not written so, or no folder can be scanned so often or so seldom.
    """
    seconds = seconds_of(time)
    if not MIN_SCAN_SECONDS <= seconds <= MAX_SCAN_SECONDS:
        raise InvalidInput(
            f"--every: {time!r} is not between {MIN_SCAN_SECONDS}s and {MAX_SCAN_SECONDS // 86_400}d"
        )
    return seconds


def find(client: KgClient, which: str, ontology: str | None) -> Folder:
    """The folder with an id or a path.

    Raises:
        NotFound: there is none.
        Conflict: a path goes to several ontologies.
    """
    names = {which, str(Path(which).expanduser().resolve())}
    found = [
        each
        for each in client.folders().folders
        if names & {each.folder_id, each.path} and ontology in {None, each.ontology}
    ]
    if not found:
        raise NotFound(f"no folder {to_printable(which)} is followed; `kg folders list` shows those that are")
    if len(found) > 1:
        told = ", ".join(each.ontology for each in found)
        raise Conflict(f"{to_printable(which)} goes to several ontologies: say --ontology, one of {told}")
    return found[0]


def wait_for_scan(client: KgClient, folder: Folder) -> Folder:
    """Wait until a folder is scanned and its documents are embedded.

    Raises:
        JobFailed: the folder could not be scanned, or embedding failed.
    """
    if folder.job_id:
        wait_for_jobs(client, [folder.job_id])
    wait_until_embedded(client, folder.ontology, [])
    return client.folder(folder.folder_id)


def refused_any(folder: Folder) -> bool:
    """Whether the last scan refused a file."""
    return bool(folder.last_scan and folder.last_scan.refused)


def print_folder(folder: Folder, *, waited: bool) -> None:
    """Say what became of a folder."""
    if waited and folder.last_scan:
        console.line(f"{folder.path} -> {folder.ontology}: {_counts(folder.last_scan)}")
        for suffix, count in sorted(folder.last_scan.left_out.items()):
            console.stdout().print(Text(f"  left out: {suffix} ({count}), not supported"))
        for told in describe_duplicates(
            [(each.document, each.duplicate_of) for each in folder.last_scan.duplicate_files],
            folder.last_scan.duplicates,
        ):
            console.line(f"  {told}")
        for each in folder.last_scan.refusals:
            line = Text(f"  refused: {each.document}: {each.reason}", style="red")
            console.line(line)
        if folder.last_scan.refused > len(folder.last_scan.refusals):
            console.say(f"  and {folder.last_scan.refused - len(folder.last_scan.refusals)} more")
    else:
        console.line(f"{folder.folder_id}  {folder.path} -> {folder.ontology}")
        console.say("A worker scans it: `kg folders list` shows how far it is.")


def show(found: FolderList) -> None:
    """Show folders, each with its last scan and what went wrong; lines are not broken, for the ids."""
    for each in found.folders:
        prefix = f" as {each.prefix}" if each.prefix else ""
        review = ", with review" if each.review else ""
        where = f" -> {each.ontology}{prefix}, every {_every(each.every_seconds)}{review}"
        lines = Text.assemble((each.path, "bold"), where, (f"\n  {each.folder_id}", "dim"))
        lines.append(f"\n  {pluralize(each.documents, 'document')}; {_last(each)}")
        for told in _wrong(each):
            lines.append(f"\n  {told}", "red")
        console.line(lines)
    if not found.folders:
        console.say("No folder is followed: kg folders add PATH --ontology NAME")


def print_removed(removed: FolderRemoved) -> None:
    """Say what was removed, and what was not."""
    console.say(f"{removed.path} is followed no more; its files are as they were.")
    if removed.kept_documents:
        console.say(f"kept in {removed.ontology} as now: {pluralize(removed.kept_documents, 'document')}.")
    if removed.deleted_documents:
        documents = pluralize(removed.deleted_documents, "document")
        sources = pluralize(removed.deleted_sources, "source")
        console.say(f"deleted from {removed.ontology}: {documents}, {sources}")
        console.say(f"the ontology {removed.ontology} itself stays: kg ontologies shows what it holds")


def _last(folder: Folder) -> str:
    scan = folder.last_scan
    told = f"scanned {_ago(scan.finished_at)}: {_counts(scan)}" if scan else "not scanned yet"
    if folder.state is None or folder.state in FINISHED:
        return told
    total = f" of {folder.total}" if folder.total else ""
    return f"{told}; the next scan is {folder.state}, {folder.done}{total} files done"


def _wrong(folder: Folder) -> list[str]:
    """What a person should look at: why the last scan failed, or the first files that were refused."""
    if folder.removing:
        return ["its removal was interrupted: `kg folders remove` again"]
    if folder.error:
        return [f"failed: {folder.error}"]
    scan = folder.last_scan
    if scan is None or not scan.refused:
        return []
    told = [f"refused: {each.document}: {each.reason}" for each in scan.refusals[:REFUSALS_LISTED]]
    return told if scan.refused <= len(told) else [*told, f"and {scan.refused - len(told)} more"]


def _counts(scan: FolderScan) -> str:
    told = [f"{getattr(scan, name)} {name}" for name in COUNTED]
    if scan.waiting:
        told.append(f"{scan.waiting} waiting for approval (kg documents waiting)")
    if scan.moved:
        told.append(f"{scan.moved} of those added renamed or moved")
    if scan.duplicates:
        told.append(f"{scan.duplicates} with the text of another document")
    if scan.postponed:
        told.append(f"{scan.postponed} left for the next scan, as they were being written")
    return ", ".join(told)


def _every(seconds: int) -> str:
    letter, size = max(
        ((letter, size) for letter, size in SECONDS.items() if seconds % size == 0), key=lambda each: each[1]
    )
    return f"{seconds // size}{letter}"


def _ago(then: datetime) -> str:
    seconds = max(0, round((datetime.now(UTC) - then).total_seconds()))
    letter, size = max(
        ((letter, size) for letter, size in SECONDS.items() if seconds >= size or size == 1),
        key=lambda each: each[1],
    )
    return f"{seconds // size}{letter} ago"
