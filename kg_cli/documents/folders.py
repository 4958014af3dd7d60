"""`kg folders`: folders that are synced with an ontology."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.wording import pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import command, emit, make_group
from kg_cli.terminal.connect import open_client, read_grant
from kg_cli.terminal.console import Part
from kg_cli.terminal.options import argument, option

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.folders import Folder, FolderList, FolderRemoved, FolderScan

SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
REFUSALS_LISTED = 5

group = make_group("Synchronised folders: their documents follow their files.")

ScanWaitOption = Annotated[bool, option("Wait until the scan is done and everything is embedded.", "--wait")]
FolderArgument = Annotated[str, argument("Id or path, as shown by `kg folders list`.", metavar="ID|PATH")]
FeedsOption = Annotated[str | None, option("Ontology of the folder, if it has several.", "--ontology", "-o")]


@group.command()
def add(
    path: Annotated[Path, argument("Folder to sync.", parser=options.require_path, metavar="path")],
    *,
    ontology: options.IntoOntology,
    every: Annotated[str, option("Time to wait between two scans, such as 30s, 5m, 2h or 1d.")] = "5m",
    prefix: options.Prefix = "",
    review: options.Review = False,
    elsewhere: Annotated[bool, option("The folder is on the machine of the worker.", "--elsewhere")] = False,
    wait: ScanWaitOption = False,
    as_json: options.Json = False,
) -> None:
    """Sync a folder: added, changed or removed files change the ontology as well.

    The worker reads the folder, so the worker must run on the folder's machine. A missing or suddenly empty
    folder removes nothing. kg never reads hidden folders or its own. With a service on another machine, the
    folder must be below its KG_SYNC__ROOTS.

    Example: kg folders add ~/notes --ontology notes --every 5m --wait
    """
    where = resolve_folder(path, elsewhere=elsewhere)
    with open_client() as client:
        folder = client.add_folder(
            where,
            ontology=ontology,
            every_seconds=parse_interval(every),
            prefix=prefix or None,
            review=review,
            grant=read_grant(where, ontology),
        )
        _end_scan(client, folder, wait=wait, as_json=as_json)


def print_folders(found: FolderList) -> None:
    """Print folders with their last scan and its failures. Lines are not wrapped, because of the ids."""
    for each in found.folders:
        prefix = f" as {each.prefix}" if each.prefix else ""
        review = ", with review" if each.review else ""
        where = f" -> {each.ontology}{prefix}, every {render_duration(each.every_seconds)}{review}"
        parts: list[Part] = [(each.path, "bold"), where, (f"\n  {each.folder_id}", "dim")]
        parts.append(f"\n  {pluralize(each.documents, 'document')}; {_describe_last_scan(each)}")
        console.line([*parts, *((f"\n  {wrong}", "red") for wrong in _list_failures(each))])
    if not found.folders:
        console.say("No synced folders. Add one: kg folders add PATH --ontology NAME")


@command(group, "list", show=print_folders)
def list_folders(kg: KgClient, *, ontology: options.OnlyOntology = None) -> Any:
    """List synced folders with the result of the last scan, or the reason for its failure.

    Example: kg folders list
    """
    found = kg.folders()
    if ontology is not None:
        found.folders = [each for each in found.folders if each.ontology == ontology]
        if not found.folders:
            kg.documents(ontology, limit=1)  # an unknown ontology is an error
    return found


@group.command()
def scan(
    which: FolderArgument,
    *,
    ontology: FeedsOption = None,
    allow_empty: Annotated[
        bool, option("Delete documents if the folder is empty or a drive is not mounted.", "--allow-empty")
    ] = False,
    wait: ScanWaitOption = False,
    as_json: options.Json = False,
) -> None:
    """Scan a folder now.

    Example: kg folders scan ~/notes --wait
    """
    with open_client() as client:
        found = _find(client, which, ontology)
        folder = client.scan_folder(found.folder_id, allow_empty=allow_empty)
        _end_scan(client, folder, wait=wait, as_json=as_json)


def print_removed(removed: FolderRemoved) -> None:
    console.say(f"{removed.path} is no longer synced. Its files are unchanged.")
    if removed.kept_documents:
        console.say(f"kept in {removed.ontology}: {pluralize(removed.kept_documents, 'document')}.")
    if removed.deleted_documents:
        documents = pluralize(removed.deleted_documents, "document")
        sources = pluralize(removed.deleted_sources, "source")
        console.say(f"deleted from {removed.ontology}: {documents}, {sources}")
        console.say(f"the ontology {removed.ontology} itself stays: kg ontologies shows its documents")


@command(group, show=print_removed)
def remove(
    kg: KgClient,
    which: FolderArgument,
    *,
    ontology: FeedsOption = None,
    delete_documents: Annotated[
        bool, option("Whether to delete the folder's documents.", "--delete-documents/--keep-documents")
    ] = False,
    yes: options.Yes = False,
) -> Any:
    """Stop the sync of a folder. Documents stay unless you delete them, and files always stay.

    Example: kg folders remove ~/notes
    """
    found = _find(kg, which, ontology)
    if delete_documents and not yes:
        options.confirm(f"Delete {pluralize(found.documents, 'document')} of {found.ontology}?")
    return kg.remove_folder(found.folder_id, delete_documents=delete_documents)


def _end_scan(client: KgClient, folder: Folder, *, wait: bool, as_json: bool) -> None:
    """Wait for a scan if requested, and print the folder."""
    from kg_cli.jobs.report import wait_for_jobs, wait_until_embedded

    if wait:
        if folder.job_id:
            wait_for_jobs(client, [folder.job_id])
        wait_until_embedded(client, folder.ontology, [])
        folder = client.folder(folder.folder_id)
    emit(folder, print_scanned if wait and folder.last_scan else print_added, as_json=as_json)
    if wait and folder.last_scan and folder.last_scan.refused:
        raise typer.Exit(options.SOME_FAILED)


def print_added(folder: Folder) -> None:
    console.line(f"{folder.folder_id}  {folder.path} -> {folder.ontology}")
    console.say("A worker scans it: `kg folders list` shows the progress.")


def print_scanned(folder: Folder) -> None:
    from kg_cli.documents.ingestion import describe_duplicates, is_ending

    scan = folder.last_scan
    if scan is None:
        return
    console.line(f"{folder.path} -> {folder.ontology}: {_format_counts(scan)}")
    for suffix, count in sorted(scan.left_out.items()):
        unsupported = ", not supported" if is_ending(suffix) else ""
        console.line(f"  skipped: {suffix} ({count}){unsupported}")
    duplicates = [(each.document, each.duplicate_of) for each in scan.duplicate_files]
    for line in describe_duplicates(duplicates, None, scan.duplicates):
        console.line(f"  {line}")
    for each in scan.refusals:
        console.line(f"  failed: {each.document}: {each.reason}", "red")
    if scan.refused > len(scan.refusals):
        console.say(f"  and {scan.refused - len(scan.refusals)} more")


def _describe_last_scan(folder: Folder) -> str:
    from kg_api.schemas.operations import FINISHED
    from kg_cli.jobs.report import format_distance

    text = "not scanned yet"
    if scan := folder.last_scan:
        text = f"scanned {format_distance(scan.finished_at)}: {_format_counts(scan)}"
    if folder.state is None or folder.state in FINISHED:
        return text
    total = f" of {folder.total}" if folder.total else ""
    return f"{text}. The next scan is {folder.state}, {folder.done}{total} files done"


def _list_failures(folder: Folder) -> Iterator[str]:
    """Yield the reason why the last scan failed, or the first failed files."""
    scan = folder.last_scan
    if folder.removing:
        yield "its removal was interrupted: repeat `kg folders remove`"
    elif folder.error:
        yield f"failed: {folder.error}"
    elif scan and scan.refused:
        skipped = scan.refusals[:REFUSALS_LISTED]
        yield from (f"failed: {each.document}: {each.reason}" for each in skipped)
        if scan.refused > len(skipped):
            yield f"and {scan.refused - len(skipped)} more"


def _format_counts(scan: FolderScan) -> str:
    parts = [f"{getattr(scan, name)} {name}" for name in ("added", "changed", "unchanged", "removed")]
    more = (
        (scan.waiting, "waiting for approval (kg documents waiting)"),
        (scan.moved, "of those added renamed or moved"),
        (scan.duplicates, "with the text of another document"),
        (scan.postponed, "postponed to the next scan, because they were being written"),
    )
    parts += [f"{scan.refused} failed", *(f"{count} {words}" for count, words in more if count)]
    return ", ".join(parts)


def render_duration(seconds: int) -> str:
    letter, size = next(each for each in SECONDS.items() if seconds % each[1] == 0)
    return f"{seconds // size}{letter}"


def parse_duration(time: str) -> int:
    """Parse a duration such as 30s, 5m, 2h or 1d. A number without a unit means seconds."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", time.strip().lower())
    if found is None:
        raise InvalidInput(f"{time!r} is not a duration: write it as 30s, 5m, 2h or 1d")
    return int(found[1]) * SECONDS[found[2] or "s"]


def parse_interval(time: str) -> int:
    """Parse and check the time between two scans of a folder."""
    from kg_api.schemas.folders import MAX_SCAN_SECONDS, MIN_SCAN_SECONDS

    seconds = parse_duration(time)
    if not MIN_SCAN_SECONDS <= seconds <= MAX_SCAN_SECONDS:
        bounds = f"between {MIN_SCAN_SECONDS}s and {MAX_SCAN_SECONDS // 86_400}d"
        raise InvalidInput(f"--every: {time!r} is not {bounds}")
    return seconds


def resolve_folder(path: Path, *, elsewhere: bool) -> str:
    """Return the path of a folder for the worker. Check a folder on this machine."""
    from kg_api.text.files import to_printable

    if elsewhere:
        return str(path)
    where = path.expanduser().resolve()
    if where.is_file():
        raise InvalidInput(
            f"{to_printable(where)} is a file. `kg folders` syncs folders. To ingest a file: kg ingest FILE"
        )
    if not where.is_dir():
        raise InvalidInput(
            f"{to_printable(where)}: no such folder on this machine. If the folder is on "
            "the worker's machine, pass --elsewhere"
        )
    return str(where)


def _find(client: KgClient, which: str, ontology: str | None) -> Folder:
    from kg_api.text.files import to_printable

    names = {which, str(Path(which).expanduser().resolve())}
    found = [
        each
        for each in client.folders().folders
        if names & {each.folder_id, each.path} and ontology in {None, each.ontology}
    ]
    if not found:
        raise NotFound(
            f"folder {to_printable(which)} is not synced. `kg folders list` shows the synced folders"
        )
    if len(found) > 1:
        listed = ", ".join(each.ontology for each in found)
        raise Conflict(f"{to_printable(which)} feeds several ontologies. Pass --ontology, one of {listed}")
    return found[0]
