"""Ontologies, documents, those that wait for approval and followed folders, as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.schemas.documents import (
    Deleted,
    DocumentChanged,
    DocumentOutcome,
    DocumentPage,
    DocumentSummary,
    Ingested,
    OntologyList,
    OntologySummary,
    WaitingDocument,
    WaitingDocuments,
)
from kg_api.schemas.filters import DeletedMatching, Facets
from kg_api.schemas.folders import (
    MAX_SCAN_SECONDS,
    MIN_SCAN_SECONDS,
    Folder,
    FolderList,
    FolderRemoved,
    FolderScan,
)
from kg_api.schemas.images import PageImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.schemas.operations import FINISHED
from kg_api.schemas.search import SourcePlace
from kg_api.text.files import to_printable
from kg_api.wording import pluralize
from kg_cli.documents.ingestion import describe_duplicates
from kg_cli.jobs.report import wait_for_jobs, wait_until_embedded
from kg_cli.search.views import write_file
from kg_cli.terminal import console

BEGINNING = 100
"""Characters of a text that are shown."""
SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
REFUSALS_LISTED = 5


def print_ontologies(found: OntologyList) -> None:
    """Print ontologies with how much of each is embedded, and what waits beside what is there."""
    pictures = any(each.images for each in found.ontologies)
    columns = ["ontology", "documents", "sources", *(["pictures"] if pictures else []), "embedded", "space"]
    console.print_table(columns, [_ontology(each, pictures=pictures) for each in found.ontologies])
    for ontology, count in found.waiting.items():
        hint = f"kg documents waiting --ontology {ontology!r}"
        waits = f"{pluralize(count, 'document')} of {ontology} wait{'s' if count == 1 else ''} for approval"
        console.say(escape(f"{waits}: {hint}"))


def _ontology(each: OntologySummary, *, pictures: bool) -> list[str]:
    embedded = each.searchable if each.building else each.embedded
    share = f"{embedded} ({100 * embedded // each.sources} %)" if each.sources else "0"
    return [
        each.ontology,
        str(each.documents),
        str(each.sources),
        *([str(each.images or "")] if pictures else []),
        share + ("\nbeing built anew" if each.building else ""),
        each.space,
    ]


def print_documents(page: DocumentPage) -> None:
    """Print a page of documents, and how to see the next; else why there is none."""
    if page.documents:
        console.print_table(["document", "sources"], map(_document, page.documents))
        console.say_rest(page, len(page.documents), "document")
    elif page.total:
        console.say(f"There are only {pluralize(page.total, 'document')}: give a smaller --offset.")
    else:
        why = "; ".join(page.notes) or "there are no documents here"
        console.say(escape(f"{why} (kg ontologies lists what there is)"))


def _document(document: DocumentSummary) -> tuple[Text, str]:
    """The id stands on a line of its own, so that it can be copied from a terminal of 80 columns."""
    title = f"\n{document.title}" if document.title != document.document else ""
    name = (f"{document.ontology} / {document.document}", "bold")
    return Text.assemble(name, title, (f"\n{document.document_id}\n", "dim")), str(document.sources)


def print_ingested(told: Ingested) -> None:
    sources = told.sources
    changes = f"{pluralize(sources.added, 'source')} added, {sources.kept} kept, {sources.removed} removed"
    console.line(f"{told.ontology} / {told.document}: {told.change}; {changes}")
    for note in told.notes:
        console.line(f"  note: {note}")


def print_changed(changed: DocumentChanged) -> None:
    console.say(escape(f"{changed.document} of {changed.ontology}: {changed.title}"))
    console.print_table(["key", "value"], [(key, _value(each)) for key, each in changed.metadata.items()])
    console.note(*changed.notes)
    if changed.job_id:
        console.say(f"its passages are embedded anew by job {changed.job_id}")


def _value(value: MetadataValue) -> str:
    """As `kg documents set` takes it: true and false as JSON has them."""
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def print_facets(found: Facets) -> None:
    """Print a table for each field, and what is left out of it."""
    for each in found.facets:
        name = f"{each.field}:{each.by}" if each.by else each.field
        console.print_table([name, "documents"], [(str(of.value), str(of.documents)) for of in each.values])
        if each.left_out:
            console.say(f"{pluralize(each.left_out, 'further value')} left out; --limit shows more")
        if each.missing:
            console.say(f"{each.missing} of {pluralize(found.documents, 'document')} have none")
    for note in found.notes:
        console.say(escape(note))


def print_page(
    image: PageImage, to: Path, *, asked: bool, force: bool, source: SourcePlace | None = None
) -> None:
    """Write a page where it is wanted, and say how many words were boxed where some were to be.

    Args:
        image: the page.
        to: where.
        asked: whether words were to be boxed.
        force: whether a file that is there is overwritten.
        source: the hit whose words were to be, where none was found.
    """
    write_file(image.content, to, force=force)
    stands = ""
    if source and source.page is not None:
        several = source.last_page not in {None, source.page}
        pages = f"pages {source.page} to {source.last_page}" if several else f"page {source.page}"
        stands = f" (the hit is on {pages})"
    nothing = f"none of these words is on it{stands}, nothing"
    boxed = pluralize(image.boxed, "word") if image.boxed else nothing
    console.say(f"page {image.page} of {image.pages}" + (f"; {boxed} boxed" if asked else ""))


# Deleting.


def _documents_and_sources(found: Deleted | DeletedMatching) -> str:
    return f"{pluralize(found.documents, 'document')}, {pluralize(found.sources, 'source')}"


def print_deleted(deleted: Deleted, *, as_json: bool, what: str = "") -> None:
    """Say what was deleted; notes go to standard error for programs too."""
    if as_json:
        console.print_json(deleted.model_dump(mode="json"))
    for note in deleted.notes:
        console.say(escape(note))
    if not deleted.notes and not as_json:
        console.say(escape(f"deleted: {what}{_documents_and_sources(deleted)}"))


def print_to_delete(found: DeletedMatching) -> None:
    for each in found.first:
        console.say(escape(f"  {each.ontology} / {each.document}"))
    if more := found.documents - len(found.first):
        console.say(f"  and {pluralize(more, 'more document')}")
    console.say(f"would be deleted: {_documents_and_sources(found)}")


def print_deleted_matching(deleted: DeletedMatching) -> None:
    for note in deleted.notes:
        console.say(escape(note))
    if deleted.documents:
        console.say(f"deleted: {_documents_and_sources(deleted)}")


# Documents that wait for approval.


def print_waiting(page: WaitingDocuments) -> None:
    if not page.documents:
        console.say("Nothing waits for approval here.")
        return
    console.print_table(["document", "sources"], map(_waiting, page.documents))
    console.say_rest(page, len(page.documents), "document")
    console.say("kg documents approve NAME --ontology ONTOLOGY, or --all; kg documents reject likewise")


def _waiting(waiting: WaitingDocument) -> tuple[Text, str]:
    change = " (changed)" if waiting.replaces else ""
    beginning = " ".join(waiting.beginning.split())[:BEGINNING]
    name = (f"{waiting.ontology} / {waiting.document}", "bold")
    return Text.assemble(name, change, (f"\n{beginning}", "dim")), str(waiting.sources)


def print_approved(
    outcomes: Sequence[DocumentOutcome], unknown: Sequence[str], *, ontology: str, as_json: bool
) -> None:
    if as_json:
        told = [each.model_dump(mode="json") for each in outcomes]
        console.print_json({"outcomes": told, "unknown": list(unknown)})
        return
    stored = [each.ingested for each in outcomes if each.ingested]
    console.line(f"{ontology}: {pluralize(len(stored), 'document')} approved")
    for line in describe_duplicates(
        [(each.document, each.duplicate_of) for each in stored if each.duplicate_of]
    ):
        console.line(f"  {line}")
    for each in outcomes:
        if each.problem:
            console.line(f"  failed: {each.problem.detail}", "red")
    _print_unknown(unknown)


def print_rejected(rejected: int, unknown: Sequence[str], *, ontology: str, as_json: bool) -> None:
    if as_json:
        console.print_json({"rejected": rejected, "unknown": list(unknown)})
        return
    console.line(f"{ontology}: {pluralize(rejected, 'document')} rejected")
    _print_unknown(unknown)


def _print_unknown(unknown: Sequence[str]) -> None:
    for each in unknown:
        console.line(f"  nothing waits under the name {each}", "red")


# Followed folders as a person names them, waits for them and sees them.


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


def print_folder(folder: Folder, *, waited: bool) -> None:
    scan = folder.last_scan
    if not waited or scan is None:
        console.line(f"{folder.folder_id}  {folder.path} -> {folder.ontology}")
        console.say("A worker scans it: `kg folders list` shows how far it is.")
        return
    console.line(f"{folder.path} -> {folder.ontology}: {_counts(scan)}")
    for suffix, count in sorted(scan.left_out.items()):
        console.stdout().print(Text(f"  left out: {suffix} ({count}), not supported"))
    duplicates = [(each.document, each.duplicate_of) for each in scan.duplicate_files]
    for told in describe_duplicates(duplicates, scan.duplicates):
        console.line(f"  {told}")
    for each in scan.refusals:
        console.line(f"  refused: {each.document}: {each.reason}", "red")
    if scan.refused > len(scan.refusals):
        console.say(f"  and {scan.refused - len(scan.refusals)} more")


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
    console.say(f"{removed.path} is followed no more; its files are as they were.")
    if removed.kept_documents:
        console.say(f"kept in {removed.ontology} as now: {pluralize(removed.kept_documents, 'document')}.")
    if removed.deleted_documents:
        documents = pluralize(removed.deleted_documents, "document")
        sources = pluralize(removed.deleted_sources, "source")
        console.say(f"deleted from {removed.ontology}: {documents}, {sources}")
        console.say(f"the ontology {removed.ontology} itself stays: kg ontologies shows what it holds")


def _last(folder: Folder) -> str:
    told = "not scanned yet"
    if scan := folder.last_scan:
        seconds = max(0, round((datetime.now(UTC) - scan.finished_at).total_seconds()))
        letter, size = next(each for each in SECONDS.items() if seconds >= each[1] or each[1] == 1)
        told = f"scanned {seconds // size}{letter} ago: {_counts(scan)}"
    if folder.state is None or folder.state in FINISHED:
        return told
    total = f" of {folder.total}" if folder.total else ""
    return f"{told}; the next scan is {folder.state}, {folder.done}{total} files done"


def _wrong(folder: Folder) -> Iterator[str]:
    """What a person should look at: why the last scan failed, or the first files that were refused."""
    scan = folder.last_scan
    if folder.removing:
        yield "its removal was interrupted: `kg folders remove` again"
    elif folder.error:
        yield f"failed: {folder.error}"
    elif scan and scan.refused:
        told = scan.refusals[:REFUSALS_LISTED]
        yield from (f"refused: {each.document}: {each.reason}" for each in told)
        if scan.refused > len(told):
            yield f"and {scan.refused - len(told)} more"


def _counts(scan: FolderScan) -> str:
    names = ("added", "changed", "unchanged", "removed", "refused")
    told = [f"{getattr(scan, name)} {name}" for name in names]
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
    letter, size = next(each for each in SECONDS.items() if seconds % each[1] == 0)
    return f"{seconds // size}{letter}"
