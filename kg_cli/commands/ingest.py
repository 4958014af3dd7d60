"""Taking documents in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SOME_FAILED = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ingest)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    *,
    ontology: Annotated[str, typer.Option("--ontology", "-o", help="The collection they go to.")],
    wait: Annotated[bool, typer.Option("--wait", help="End when the embeddings are there.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="First say what it will make and cost, and ask.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Go on after a preview unasked.")] = False,
    prefix: Annotated[str, typer.Option(help="Put before each document's name.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Take in text, Markdown and RST files. Unchanged ones cost nothing, changed ones only what changed.

    A document is named by its path below the folder given. A file that cannot be read is told and the
    others go on; the exit code is 3 then.

    With --preview nothing is stored, embedded or paid until you say yes; without a terminal, --yes says it.

    Example: kg ingest ~/notes --ontology notes --wait
    """
    from kg_api.parse.documents import SUFFIXES
    from kg_api.parse.files import select
    from kg_cli.connect import open_client
    from kg_cli.ingesting import run
    from kg_cli.previewing import previewed

    selection = select(paths, SUFFIXES, prefix)
    with open_client() as client:
        if preview and not previewed(client, selection, ontology, yes=yes, as_json=as_json):
            return
        failed = run(client, selection, ontology, wait=wait, as_json=as_json)
    if failed:
        raise typer.Exit(SOME_FAILED)
