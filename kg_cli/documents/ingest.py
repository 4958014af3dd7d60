"""Taking documents in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.documents.options import IntoOntologyOption, PrefixOption, WaitOption
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import OwnJsonOption

SOME_FAILED = 3
"""Also when nothing was taken."""


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    *,
    ontology: IntoOntologyOption,
    wait: WaitOption = False,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Show what would be created and its cost, and ask for confirmation."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Proceed after a preview without asking.")] = False,
    prefix: PrefixOption = "",
    as_json: OwnJsonOption = False,
) -> None:
    """Ingest Markdown, RST, plain text and source code. Unchanged files cost nothing, changed ones little.

    A document is named by its path below the folder given. Of a folder, files with endings that kg reads are
    taken, the others counted; a file that is named itself is read as plain text if it is text. The exit code
    is 3 when a file could not be read, though the others are stored, and when nothing was taken at all.

    With --preview nothing is stored, embedded or paid until you say yes; without a terminal --yes says it,
    and without that the exit code is 3. With --json and without --yes it only shows the preview.

    Example: kg ingest ~/notes --ontology notes --wait
    """
    from kg_api.parse.documents import SUFFIXES
    from kg_api.parse.files import select
    from kg_cli.documents.ingestion import run
    from kg_cli.documents.preview import Decision, show_preview

    selection = select(paths, SUFFIXES, prefix)
    with open_client() as client:
        if preview and selection.files:
            go_on = show_preview(client, selection, ontology, yes=yes, as_json=as_json)
            if go_on is not Decision.GO_ON:
                raise typer.Exit(SOME_FAILED if go_on is Decision.NOBODY_TO_ASK else 0)
        complete = run(client, selection, ontology, wait=wait, as_json=as_json)
    if not complete:
        raise typer.Exit(SOME_FAILED)
