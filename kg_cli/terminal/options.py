"""Shared options of commands, and the confirmation of a change."""

from __future__ import annotations

import getpass
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from kg_api.schemas.vocabulary import MAX_LIMIT, MAX_PAGE, MAX_WINDOW
from kg_cli.terminal.console import complain, say

DECLINED: Final = 1  # exit code if the user declines
# exit code if some of several items failed: each failure is reported, and the other items are done
SOME_FAILED: Final = 3


def confirm(question: str) -> None:
    """Ask for confirmation and exit if the user declines."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        if not sys.stdin.isatty():
            complain(
                "nothing was done, because no terminal can confirm. Pass --yes to skip the confirmation."
            )
        raise
    if not agreed:
        say("nothing was done")
        raise typer.Exit(DECLINED)


def require_words(text: str) -> str:
    if not text.strip():
        raise typer.BadParameter("the text is empty. Write a query")
    return text


def without_place(citation: str) -> str:
    """Return the source of a citation. A name may contain a `#` itself."""
    return re.sub(r"#\d+-\d+$", "", citation)


def named_path(text: str) -> Path:
    """Return the path. Reject an empty one (an unset variable), which would mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty. For the current folder, write `.`")
    return Path(text)


def given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options with a value, such as `locals()` of a command, except the given names."""
    return {name: value for name, value in options.items() if name not in names and value is not None}


Query = Annotated[
    str,
    typer.Argument(metavar="QUERY", help="Text to search for.", callback=require_words),
]

Ontology = Annotated[str, typer.Option("--ontology", "-o", help="Ontology to use.")]
OnlyOntology = Annotated[str | None, typer.Option("--ontology", "-o", help="Only use this ontology.")]
OnlyOntologies = Annotated[
    list[str] | None,
    typer.Option("--ontology", "-o", help=("Only use this ontology. You can repeat this option.")),
]
WhichOntology = Annotated[
    str | None,
    typer.Option(
        "--ontology",
        "-o",
        help=("Ontology of the document, if more than one ontology has a document with this name."),
    ),
]
IntoOntology = Annotated[
    str, typer.Option("--ontology", "-o", help=("Ontology to ingest the documents into."))
]
Prefix = Annotated[str, typer.Option(help="Prefix to add to the name of each document.")]
Review = Annotated[
    bool,
    typer.Option("--review", help=("Wait for you to approve new and changed files before kg uses them.")),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Filter for documents, such as 'date>=2025-01-01', tags=oncall, 'format in rst,text', "
        "'author exists', 'tags=a || author=Ada && draft=false', or for sources, such as 'page>=3' or "
        "kind=image. If you repeat this option, all filters must match.",
    ),
]
OnlyDocuments = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        "-d",
        help=("Only search this document: its name, ONTOLOGY/NAME or id. You can repeat this option."),
    ),
]

Limit = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, help=("Maximum number of results to return."))
]
Page = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_PAGE, help=("Maximum number of results to return."))
]
Offset = Annotated[int, typer.Option(min=0, help="Number of items to skip.")]
Neighbours = Annotated[
    int,
    typer.Option(
        "--window", "-w", min=0, max=MAX_WINDOW, help=("Number of paragraphs to show before and after.")
    ),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Json = Annotated[bool, typer.Option("--json", help="Print the REST response as JSON.")]
# for commands with output other than the REST response
OwnJson = Annotated[bool, typer.Option("--json", help="Print JSON to use in a program.")]

# Options of changes


def _get_user(name: str | None) -> str:
    return name or getpass.getuser()


By = Annotated[
    str | None,
    typer.Option(
        "--by",
        callback=_get_user,
        help="Your name, which kg records with the change. Default: your user name on this machine.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help=("Show the effects and the cost, but do not change anything."))
]
Create = Annotated[bool, typer.Option("--create", help="Create the ontology if it does not exist.")]
Watch = Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")]
