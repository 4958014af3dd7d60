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
    typer.Argument(metavar="QUERY", help="Query text.", callback=require_words),
]

Ontology = Annotated[str, typer.Option("--ontology", "-o", help="The ontology.")]
OnlyOntology = Annotated[str | None, typer.Option("--ontology", "-o", help="Only this ontology.")]
OnlyOntologies = Annotated[
    list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology. Repeat for several.")
]
WhichOntology = Annotated[
    str | None, typer.Option("--ontology", "-o", help="Which one, when several have the name.")
]
IntoOntology = Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the documents.")]
Prefix = Annotated[str, typer.Option(help="Prefix for each document's name.")]
Review = Annotated[
    bool, typer.Option("--review", help="Let new and changed files wait until they are approved.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only documents for which this holds, such as 'date>=2025-01-01', tags=oncall, "
        "'format in rst,text', 'author exists', 'tags=a || author=Ada && draft=false', and of them "
        "only sources such as 'page>=3', kind=image. "
        "Repeat: all must hold.",
    ),
]
OnlyDocuments = Annotated[
    list[str] | None,
    typer.Option(
        "--document", "-d", help="Only this document: its name, ONTOLOGY/NAME or id. Repeat for several."
    ),
]

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, help="Maximum number of results.")]
Page = Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_PAGE, help="Maximum number of results.")]
Offset = Annotated[int, typer.Option(min=0, help="Number of items to skip.")]
Neighbours = Annotated[
    int, typer.Option("--window", "-w", min=0, max=MAX_WINDOW, help="Paragraphs before and after.")
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Json = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
# for commands with output other than the REST response
OwnJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

# Options of changes


def _or_user(name: str | None) -> str:
    return name or getpass.getuser()


By = Annotated[
    str | None,
    typer.Option(
        "--by",
        callback=_or_user,
        help="User name for the record. Default: the user of this machine.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the effects and the cost without changes.")]
Create = Annotated[bool, typer.Option("--create", help="Create the ontology if it does not exist.")]
Watch = Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")]
