"""Folders that are kept in step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_api.wording.plural import pluralize

SOME_REFUSED = 3

AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the scan is done and everything is embedded.")]
Which = Annotated[str, typer.Argument(metavar="ID|PATH", help="As `kg folders list` shows it.")]
Of = Annotated[
    str | None, typer.Option("--ontology", "-o", help="Which ontology, if the folder feeds several.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    folders = typer.Typer(help="Folders whose documents follow their files.", no_args_is_help=True)
    folders.command("add")(add)
    folders.command("list")(list_folders)
    folders.command("scan")(scan)
    folders.command("remove")(remove)
    app.add_typer(folders, name="folders")


def add(
    path: Annotated[Path, typer.Argument(help="The folder.")],
    *,
    ontology: Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the files.")],
    every: Annotated[str, typer.Option(help="Time between two scans, such as 30s, 5m, 2h or 1d.")] = "5m",
    prefix: Annotated[str, typer.Option(help="Prefix for each document's name.")] = "",
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="The folder is on the worker's machine, not on this one.")
    ] = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Synchronise a folder: files added, changed or removed there change the ontology too.

    The worker reads it, so it must run where the folder is. A folder that is not there, or suddenly empty,
    removes nothing. Hidden folders, and kg's own, are never followed. With a service elsewhere, the folder
    must lie below its KG_SYNC__ROOTS.

    Example: kg folders add ~/notes --ontology notes --every 5m --wait
    """
    from kg_cli.documents.folder_views import absolute, interval_of, print_folder, wait_for_scan
    from kg_cli.terminal.connect import grant_to_follow, open_client

    where = absolute(path, elsewhere=elsewhere)
    with open_client() as client:
        folder = client.add_folder(
            where,
            ontology=ontology,
            every_seconds=interval_of(every),
            prefix=prefix or None,
            grant=grant_to_follow(where, ontology),
        )
        if wait:
            folder = wait_for_scan(client, folder)
    refused = print_folder(folder, as_json=as_json, waited=wait)
    if refused:
        raise typer.Exit(SOME_REFUSED)


def list_folders(*, as_json: AsJson = False) -> None:
    """List synchronised folders, with the result of the last scan or why it failed.

    Example: kg folders list
    """
    from kg_cli.documents.folder_views import show
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    with open_client() as client:
        found = client.folders()
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        show(found.folders)


def scan(
    which: Which,
    *,
    ontology: Of = None,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Confirm that the folder was emptied on purpose: remove its documents."
        ),
    ] = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Scan a folder now.

    Example: kg folders scan ~/notes --wait
    """
    from kg_cli.documents.folder_views import find, print_folder, wait_for_scan
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        found = find(client, which, ontology)
        folder = client.scan_folder(found.folder_id, allow_empty=allow_empty)
        if wait:
            folder = wait_for_scan(client, folder)
    refused = print_folder(folder, as_json=as_json, waited=wait)
    if refused:
        raise typer.Exit(SOME_REFUSED)


def remove(
    which: Which,
    *,
    ontology: Of = None,
    delete_documents: Annotated[
        bool,
        typer.Option(
            "--delete-documents/--keep-documents",
            help="Whether to delete the documents that came from the folder.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop synchronising a folder. Its documents stay unless you delete them too; files are never touched.

    Example: kg folders remove ~/notes
    """
    from kg_cli.documents.folder_views import find, print_removed
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        found = find(client, which, ontology)
        if delete_documents and not yes:
            typer.confirm(f"Delete {pluralize(found.documents, 'document')} of {found.ontology}?", abort=True)
        print_removed(
            client.remove_folder(found.folder_id, delete_documents=delete_documents), as_json=as_json
        )
