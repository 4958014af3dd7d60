"""What is there, and deleting it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import DEFAULT_PAGE_WIDTH, MAX_FACET_VALUES, MAX_PAGE_WIDTH, MIN_PAGE_WIDTH
from kg_api.wording import pluralize
from kg_cli.documents.ingest import ListsOption
from kg_cli.terminal.connect import (
    SOME_FAILED,
    JsonOption,
    OffsetOption,
    OnlyOntologiesOption,
    OnlyOntologyOption,
    PageOption,
    WhereOption,
    WhichOntologyOption,
    YesOption,
    confirm,
    emit,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.documents import DocumentOutcome
    from kg_cli.documents import library_views as views
else:
    views = LateModule("kg_cli.documents.library_views")

LAST_NAME = "\U0010ffff"
"""Behind the name of every document."""

delete = typer.Typer(
    help="Delete a document, the documents of a filter, or an ontology.", no_args_is_help=True
)


def ontologies(*, as_json: JsonOption = False) -> None:
    """List the ontologies and how much of each is embedded.

    Example: kg ontologies
    """
    report(lambda kg: kg.ontologies(), views.print_ontologies, as_json=as_json)


documents = typer.Typer()


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
    with open_client() as client:
        page = client.documents(ontology, where=where, offset=offset, limit=limit)
    emit(page, views.print_documents, as_json=as_json)


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
    with open_client() as client:
        emit(
            client.change_document(document, ontology=ontology, **change),
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
    views.print_deleted_matching(found, as_json=as_json)


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
    from kg_api.errors import NotFound
    from kg_api.schemas.documents import Deleted

    with open_client() as client:
        if not yes:
            try:
                page = client.documents(ontology, limit=1)
            except NotFound as missing:  # deleting is idempotent
                notes = [f"nothing was deleted: {missing}"]
                views.print_deleted(Deleted(documents=0, sources=0, notes=notes), as_json=as_json)
                return
            _require_admin(client, ontology)
            about = pluralize(page.total, "document")
            confirm(f"Delete the ontology {ontology} with its {about}?")
        views.print_deleted(
            client.delete_ontology(ontology), as_json=as_json, what=f"the ontology {ontology}, "
        )


def _require_admin(client: KgClient, ontology: str) -> None:
    """See, by reading nothing behind the last document, that a key is good for deleting an ontology.

    Raises:
        Forbidden: it is not.
    """
    from kg_api.errors import Forbidden

    try:
        client.export_documents(ontology, after=LAST_NAME)
    except Forbidden:
        raise Forbidden(
            "to delete an ontology takes a key of the scope 'admin': ask an administrator for another; "
            "nothing was deleted"
        ) from None


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
        if everything:
            outcomes, unknown = _approve_all(client, ontology), list[str]()
        else:
            done = client.approve(ontology=ontology, documents=names)
            outcomes, unknown = done.outcomes, done.unknown
    views.print_approved(outcomes, unknown, ontology=ontology, as_json=as_json)
    if unknown or any(each.problem for each in outcomes):
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
        if everything:
            if not yes:
                count = client.waiting(ontology, limit=1).total
                confirm(f"Reject {pluralize(count, 'document')} of {ontology}?")
            rejected, unknown = _reject_all(client, ontology), list[str]()
        else:
            done = client.reject(ontology=ontology, documents=names)
            rejected, unknown = done.rejected, done.unknown
    views.print_rejected(rejected, unknown, ontology=ontology, as_json=as_json)
    if unknown:
        raise typer.Exit(SOME_FAILED)


def _check(names: Sequence[str] | None, *, everything: bool) -> None:
    if bool(names) == everything:
        raise typer.BadParameter("name documents, or say --all: one of the two")


def _approve_all(client: KgClient, ontology: str) -> list[DocumentOutcome]:
    done = client.approve(ontology=ontology, all=True)
    outcomes = list(done.outcomes)
    while done.next:
        done = client.approve(ontology=ontology, all=True, after=done.next)
        outcomes += done.outcomes
    return outcomes


def _reject_all(client: KgClient, ontology: str) -> int:
    done = client.reject(ontology=ontology, all=True)
    rejected = done.rejected
    while done.waiting and done.rejected:
        done = client.reject(ontology=ontology, all=True)
        rejected += done.rejected
    return rejected
