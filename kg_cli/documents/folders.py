"""Folders that are kept in step."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.wording import pluralize
from kg_cli.documents.ingest import IntoOntologyOption, PrefixOption, ReviewOption, named_path
from kg_cli.terminal.connect import JsonOption, YesOption, confirm, emit, grant_to_follow, open_client, report
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.documents import folder_views as views
else:
    views = LateModule("kg_cli.documents.folder_views")

SOME_REFUSED = 3

ScanWaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until the scan is done and everything is embedded.")
]
FolderArgument = Annotated[str, typer.Argument(metavar="ID|PATH", help="As `kg folders list` shows it.")]
FeedsOption = Annotated[
    str | None, typer.Option("--ontology", "-o", help="Which ontology, if the folder feeds several.")
]

group = typer.Typer(help="Folders whose documents follow their files.", no_args_is_help=True)


@group.command()
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
        if wait:
            folder = views.wait_for_scan(client, folder)
    emit(folder, partial(views.print_folder, waited=wait), as_json=as_json)
    if wait and views.refused_any(folder):
        raise typer.Exit(SOME_REFUSED)


@group.command("list")
def list_folders(*, as_json: JsonOption = False) -> None:
    """List synchronised folders, with the result of the last scan or why it failed.

    Example: kg folders list
    """
    report(lambda kg: kg.folders(), views.show, as_json=as_json)


@group.command()
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
        if wait:
            folder = views.wait_for_scan(client, folder)
    emit(folder, partial(views.print_folder, waited=wait), as_json=as_json)
    if wait and views.refused_any(folder):
        raise typer.Exit(SOME_REFUSED)


@group.command()
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
