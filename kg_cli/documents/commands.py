"""Documents and folders: taken in, listed, changed, approved, followed and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.formats import OcrMode
from kg_api.schemas.vocabulary import DEFAULT_PAGE_WIDTH, MAX_FACET_VALUES, MAX_PAGE_WIDTH, MIN_PAGE_WIDTH
from kg_api.wording import pluralize
from kg_cli.terminal.connect import (
    SOME_FAILED,
    JsonOption,
    OffsetOption,
    OnlyOntologiesOption,
    OnlyOntologyOption,
    OwnJsonOption,
    PageOption,
    WhereOption,
    WhichOntologyOption,
    YesOption,
    confirm,
    emit,
    grant_to_follow,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.folders import Folder
    from kg_cli.documents import views
else:
    views = LateModule("kg_cli.documents.views")

LAST_NAME = "\U0010ffff"
"""Behind the name of every document."""

folders = typer.Typer(help="Folders whose documents follow their files.", no_args_is_help=True)
documents = typer.Typer()
delete = typer.Typer(
    help="Delete a document, the documents of a filter, or an ontology.", no_args_is_help=True
)


def named_path(text: str) -> Path:
    """A path that a person named; an empty one, as of a variable that is not set, would be this folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty; `.` is the folder you are in")
    return Path(text)


IntoOntologyOption = Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the documents.")]
PrefixOption = Annotated[str, typer.Option(help="Prefix for each document's name.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until everything is embedded.")]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Metadata of each document; repeat."),
]
ListsOption = Annotated[
    list[str] | None,
    typer.Option("--list", metavar="KEY=A,B", help="A list, its values separated by commas; repeat."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Only files of folders that fit, as in .gitignore; repeat."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="PATTERN", help="Leave out files and folders that fit, as in .gitignore; repeat."
    ),
]
ReviewOption = Annotated[
    bool, typer.Option("--review", help="Let new and changed files wait until they are approved.")
]
OcrOption = Annotated[
    OcrMode,
    typer.Option("--ocr", help="PDF pages that OCR reads: those without readable text, all, or none."),
]
SkipDuplicatesOption = Annotated[
    bool,
    typer.Option("--skip-duplicates", help="Leave out new files whose text another document has already."),
]
GitignoreOption = Annotated[
    bool,
    typer.Option("--gitignore/--no-gitignore", help="Leave out what .gitignore files in folders name."),
]


# Taking documents and conversations in.


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders.", parser=named_path, metavar="paths")
    ],
    *,
    ontology: IntoOntologyOption,
    wait: WaitOption = False,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Show what would be created and its cost, and ask for confirmation."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Proceed after a preview without asking.")] = False,
    prefix: PrefixOption = "",
    metadata: MetadataOption = None,
    several: ListsOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    gitignore: GitignoreOption = True,
    skip_duplicates: SkipDuplicatesOption = False,
    review: ReviewOption = False,
    ocr: OcrOption = "auto",
    as_json: OwnJsonOption = False,
) -> None:
    """Ingest text, PDF, web pages, office files, e-mail. Unchanged files cost nothing, changed ones little.

    A document is named by its path below the folder given. Of a folder, files with endings that kg reads are
    taken, the others counted, as are empty files and what .gitignore, --exclude '*.log' or --include 'docs/'
    leave out; --json lists each. A file that is named itself is read as plain text if it is text. The exit
    code is 3 when a file could not be read, though the others are stored, and when nothing was taken at all.

    A file whose text another document has already is stored all the same, and that is said;
    --skip-duplicates leaves it out, unless its own name is stored already.

    If letters of a PDF come out wrong, --ocr always reads all of its pages as images.

    With --review files wait, neither embedded nor found, until kg documents approve.

    What --metadata and --list say (--metadata author=Ada --list tags=field,zoo) is kept with each document,
    beside what its file says of itself, and can be searched by (--where).

    With --preview nothing is stored, embedded or paid until you say yes; without a terminal --yes says it,
    and without that the exit code is 3. With --json and without --yes it only shows the preview.

    Example: kg ingest ~/notes --ontology notes --wait
    """
    from kg_api.text.documents import SUFFIXES
    from kg_api.text.files import FolderRules, select
    from kg_cli.documents.ingestion import Destination, read_metadata, run, show_preview

    into = Destination(
        ontology,
        read_metadata(metadata or [], several or []),
        skip_duplicates=skip_duplicates,
        review=review,
        ocr=ocr,
    )
    rules = FolderRules(include or (), exclude or (), gitignore=gitignore)
    selection = select(paths, SUFFIXES, prefix, rules=rules)
    with open_client() as client:
        if preview and selection.files:
            show_preview(client, selection, into, yes=yes, as_json=as_json)
        complete = run(client, selection, into, wait=wait, as_json=as_json)
    if not complete:
        raise typer.Exit(SOME_FAILED)


def conversation(
    file: Annotated[
        Path, typer.Argument(help="JSON or JSON Lines; - reads standard input.", allow_dash=True)
    ],
    *,
    ontology: IntoOntologyOption,
    title: Annotated[
        str,
        typer.Option(
            "--title",
            "-t",
            help="Title and name of the conversation; an existing one of that name is replaced.",
        ),
    ],
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest a conversation as one document, each message as a section.

    The file is a JSON list of messages, or has one on each line. A message has author, text and, if it is
    known, timestamp (ISO 8601 with a zone). When it has gone on, the same title again embeds what is new.

    Example: kg conversation standup.jsonl --ontology talks --title "Standup of 1 March" --wait
    """
    from kg_cli.jobs.report import wait_until_embedded
    from kg_cli.terminal.console import read_messages

    messages = read_messages(file)
    with open_client() as client:
        told = client.ingest_conversation(messages, ontology=ontology, title=title)
        if wait:
            wait_until_embedded(client, ontology, [told.job_id] if told.job_id else [])
    emit(told, views.print_ingested, as_json=as_json)


# What is there, changing and deleting it.


def ontologies(*, as_json: JsonOption = False) -> None:
    """List the ontologies and how much of each is embedded.

    Example: kg ontologies
    """
    report(lambda kg: kg.ontologies(), views.print_ontologies, as_json=as_json)


@documents.callback(invoke_without_command=True)
def list_documents(
    context: typer.Context,
    *,
    ontology: OnlyOntologyOption = None,
    where: WhereOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List documents by ontology and name; `kg documents set` changes one's metadata.

    Examples: kg documents --ontology notes --limit 20
        kg documents --where 'date>=2025-01-01' --where tags=oncall
    """
    if context.invoked_subcommand is not None:
        return
    report(
        lambda kg: kg.documents(ontology, where=where, offset=offset, limit=limit),
        views.print_documents,
        as_json=as_json,
    )


def facets(
    fields: Annotated[
        list[str], typer.Argument(metavar="FIELD...", help="author, tags, format, ontology, date:year, ...")
    ],
    *,
    ontology: OnlyOntologiesOption = None,
    where: WhereOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_FACET_VALUES, help="Values of each field.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """Count documents by the values of their fields: metadata, format, ontology, dates.

    A date is counted by :year, :month or :day. At most 10 fields at once.

    Example: kg facets author date:year --where tags=oncall
    """
    report(
        lambda kg: kg.facets(fields, ontology=ontology, where=where, limit=limit),
        views.print_facets,
        as_json=as_json,
    )


@documents.command("set")
def set_document(
    document: Annotated[str, typer.Argument(help="Name, ONTOLOGY/NAME or id; 8 digits do.")],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Metadata; title= and uri= too.")
    ] = None,
    *,
    several: ListsOption = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="A key to delete; repeat.")] = None,
    ontology: WhichOntologyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change title, address or metadata of a document, without its text.

    What is set stays when the document is ingested again. true, false and numbers are read as such; quotes
    make a text of one. Nothing is embedded anew, unless the contexts of the ontology's chunks use it.

    Example: kg documents set install.md author=Ada date=2025-01-31 --list tags=oncall,ops --remove draft
    """
    from kg_cli.documents.ingestion import read_changes

    change = read_changes(values or [], several or [], remove or [])
    report(
        lambda kg: kg.change_document(document, ontology=ontology, **change),
        views.print_changed,
        as_json=as_json,
    )


@documents.command("page")
def save_page(
    document: Annotated[str, typer.Argument(help="Name, ONTOLOGY/NAME or id of a PDF; 8 digits do.")],
    page: Annotated[int, typer.Argument(min=1, help="Number of the page, from 1.")],
    to: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to, as PNG; - for standard output.")
    ],
    *,
    source: Annotated[
        str | None, typer.Option("--source", metavar="ID", help="A hit, whose words are boxed.")
    ] = None,
    query: Annotated[str | None, typer.Option("--query", help="Words that are boxed.")] = None,
    width: Annotated[
        int, typer.Option("--width", min=MIN_PAGE_WIDTH, max=MAX_PAGE_WIDTH, help="In pixels.")
    ] = DEFAULT_PAGE_WIDTH,
    ontology: WhichOntologyOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
) -> None:
    """Save a page of a PDF as a picture, with the words of a hit boxed.

    Example: kg documents page manual.pdf 7 --out page.png --source 1f0c5a77
    """
    with open_client() as client:
        image = client.page_image(
            document, page, source_id=source, query=query, width=width, ontology=ontology
        )
        hit = None if source is None or image.boxed else client.source(source)
    views.print_page(image, to, asked=source is not None or query is not None, force=force, source=hit)


@delete.command("document")
def delete_document(
    document: Annotated[
        str, typer.Argument(help="Name, ONTOLOGY/NAME or id, as `kg documents` lists them; 8 digits do.")
    ],
    *,
    ontology: WhichOntologyOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a document with its sources.

    A name that is not there is an error; a whole id that has gone is only told, so that scripts can repeat
    it.

    Example: kg delete document install.md --ontology notes
    """
    with open_client() as client:
        identity = document
        if not yes:
            found = client.document(document, ontology=ontology)
            identity = found.document_id
            confirm(f"Delete {found.document} of {found.ontology} ({pluralize(found.sources, 'source')})?")
        views.print_deleted(client.delete_document(identity, ontology=ontology), as_json=as_json)


@delete.command("documents")
def delete_documents(
    *,
    where: Annotated[list[str], typer.Option("--where", help="Documents for which this holds; repeat: all.")],
    ontology: OnlyOntologiesOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete the documents that fit a filter; what would go is shown first.

    They are deleted only where the same ones still fit. --yes goes on without asking.

    Example: kg delete documents --ontology notes --where 'date<2020' --where tags=old
    """
    with open_client() as client:
        found = client.delete_documents(where, ontology=ontology)
        if found.documents:
            if not yes:
                views.print_to_delete(found)
                confirm(f"Delete {pluralize(found.documents, 'document')}?")
            found = client.delete_documents(
                where,
                ontology=ontology,
                dry_run=False,
                expected=found.documents,
                expected_digest=found.digest,
            )
    emit(found, views.print_deleted_matching, as_json=as_json)


@delete.command("ontology")
def delete_ontology(
    ontology: Annotated[str, typer.Argument(help="Name of the ontology.")],
    *,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete an ontology with all its documents. One that does not exist is reported.

    Example: kg delete ontology notes
    """
    from kg_api.errors import Forbidden, NotFound
    from kg_api.schemas.documents import Deleted

    with open_client() as client:
        if not yes:
            try:
                page = client.documents(ontology, limit=1)
            except NotFound as missing:  # deleting is idempotent
                notes = [f"nothing was deleted: {missing}"]
                views.print_deleted(Deleted(documents=0, sources=0, notes=notes), as_json=as_json)
                return
            try:  # see, by reading nothing behind the last document, that the key is good for this
                client.export_documents(ontology, after=LAST_NAME)
            except Forbidden:
                raise Forbidden(
                    "to delete an ontology takes a key of the scope 'admin': ask an administrator for "
                    "another; nothing was deleted"
                ) from None
            about = pluralize(page.total, "document")
            confirm(f"Delete the ontology {ontology} with its {about}?")
        views.print_deleted(
            client.delete_ontology(ontology), as_json=as_json, what=f"the ontology {ontology}, "
        )


# Documents that wait until they are approved.

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="As they are listed.")]
ReviewedOption = Annotated[str, typer.Option("--ontology", "-o", help="Where they wait.")]
AllOption = Annotated[bool, typer.Option("--all", help="All that wait there.")]


@documents.command("waiting")
def list_waiting(
    *,
    ontology: OnlyOntologyOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List documents that wait for approval, with the beginning of each.

    Example: kg documents waiting --ontology notes
    """
    report(
        lambda kg: kg.waiting(ontology, offset=offset, limit=limit),
        views.print_waiting,
        as_json=as_json,
    )


@documents.command()
def approve(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """Approve documents that wait: they are stored, found and embedded as if they were ingested now.

    --all does not ask: it does what ingesting without --review does. The exit code is 3 when one could not be
    stored; it waits on.

    Example: kg documents approve plan.md --ontology notes
    """
    _check(names, everything=everything)
    with open_client() as client:
        done = client.approve(ontology=ontology, documents=names, all=everything)
        outcomes = list(done.outcomes)
        while everything and done.next:
            done = client.approve(ontology=ontology, all=True, after=done.next)
            outcomes += done.outcomes
    views.print_approved(outcomes, done.unknown, ontology=ontology, as_json=as_json)
    if done.unknown or any(each.problem for each in outcomes):
        raise typer.Exit(SOME_FAILED)


@documents.command()
def reject(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reject documents that wait: nothing of them is kept; what is stored under their names stays.

    A file of a folder that is followed waits again when it has changed.

    Example: kg documents reject draft.md --ontology notes
    """
    _check(names, everything=everything)
    with open_client() as client:
        if everything and not yes:
            count = client.waiting(ontology, limit=1).total
            confirm(f"Reject {pluralize(count, 'document')} of {ontology}?")
        done = client.reject(ontology=ontology, documents=names, all=everything)
        rejected = done.rejected
        while everything and done.waiting and done.rejected:
            done = client.reject(ontology=ontology, all=True)
            rejected += done.rejected
    views.print_rejected(rejected, done.unknown, ontology=ontology, as_json=as_json)
    if done.unknown:
        raise typer.Exit(SOME_FAILED)


def _check(names: Sequence[str] | None, *, everything: bool) -> None:
    if bool(names) == everything:
        raise typer.BadParameter("name documents, or say --all: one of the two")


# Folders that are kept in step.

ScanWaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until the scan is done and everything is embedded.")
]
FolderArgument = Annotated[str, typer.Argument(metavar="ID|PATH", help="As `kg folders list` shows it.")]
FeedsOption = Annotated[
    str | None, typer.Option("--ontology", "-o", help="Which ontology, if the folder feeds several.")
]


@folders.command()
def add(
    path: Annotated[Path, typer.Argument(help="The folder.", parser=named_path, metavar="path")],
    *,
    ontology: IntoOntologyOption,
    every: Annotated[str, typer.Option(help="Time between two scans, such as 30s, 5m, 2h or 1d.")] = "5m",
    prefix: PrefixOption = "",
    review: ReviewOption = False,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="The folder is on the worker's machine, not on this one.")
    ] = False,
    wait: ScanWaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Synchronise a folder: files added, changed or removed there change the ontology too.

    The worker reads it, so it must run where the folder is. A folder that is not there, or suddenly empty,
    removes nothing. Hidden folders, and kg's own, are never followed. With a service elsewhere, the folder
    must lie below its KG_SYNC__ROOTS.

    Example: kg folders add ~/notes --ontology notes --every 5m --wait
    """
    where = views.absolute(path, elsewhere=elsewhere)
    with open_client() as client:
        folder = client.add_folder(
            where,
            ontology=ontology,
            every_seconds=views.interval_of(every),
            prefix=prefix or None,
            review=review,
            grant=grant_to_follow(where, ontology),
        )
        _end_scan(client, folder, wait=wait, as_json=as_json)


@folders.command("list")
def list_folders(*, as_json: JsonOption = False) -> None:
    """List synchronised folders, with the result of the last scan or why it failed.

    Example: kg folders list
    """
    report(lambda kg: kg.folders(), views.show, as_json=as_json)


@folders.command()
def scan(
    which: FolderArgument,
    *,
    ontology: FeedsOption = None,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty",
            help="Delete documents even if the folder is empty, or a drive of it is not mounted.",
        ),
    ] = False,
    wait: ScanWaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Scan a folder now.

    Example: kg folders scan ~/notes --wait
    """
    with open_client() as client:
        found = views.find(client, which, ontology)
        folder = client.scan_folder(found.folder_id, allow_empty=allow_empty)
        _end_scan(client, folder, wait=wait, as_json=as_json)


@folders.command()
def remove(
    which: FolderArgument,
    *,
    ontology: FeedsOption = None,
    delete_documents: Annotated[
        bool,
        typer.Option(
            "--delete-documents/--keep-documents",
            help="Whether to delete the documents that came from the folder.",
        ),
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Stop synchronising a folder. Its documents stay unless you delete them too; files are never touched.

    Example: kg folders remove ~/notes
    """
    with open_client() as client:
        found = views.find(client, which, ontology)
        if delete_documents and not yes:
            confirm(f"Delete {pluralize(found.documents, 'document')} of {found.ontology}?")
        removed = client.remove_folder(found.folder_id, delete_documents=delete_documents)
    emit(removed, views.print_removed, as_json=as_json)


def _end_scan(client: KgClient, folder: Folder, *, wait: bool, as_json: bool) -> None:
    """Wait for a scan if asked to, and print the folder.

    Raises:
        Exit: the scan refused a file.
    """
    if wait:
        folder = views.wait_for_scan(client, folder)
    emit(folder, partial(views.print_folder, waited=wait), as_json=as_json)
    if wait and folder.last_scan and folder.last_scan.refused:
        raise typer.Exit(SOME_FAILED)
