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
        if sys.stdin.isatty():
            raise
        say("")  # ends the line of the question
        complain("nothing was done, because no terminal can confirm. Pass --yes to skip the confirmation.")
        raise typer.Exit(DECLINED) from None
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


def require_path(text: str) -> Path:
    """Return the path. Reject an empty one (an unset variable), which would mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty. For the current folder, write `.`")
    return Path(text)


def select_given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options with a value, such as `locals()` of a command, except the given names."""
    return {name: value for name, value in options.items() if name not in names and value is not None}


def option(text: str, *names: str, **details: Any) -> Any:
    """Return an option with its help, names (default: that of the parameter) and details for typer."""
    return typer.Option(*names, help=text, **details)


def repeated(text: str, *names: str, **details: Any) -> Any:
    return option(f"{text} You can repeat this option.", *names, **details)


def declare_limit(what: str, maximum: int, *names: str, least: int = 1) -> Any:
    return option(f"Maximum number of {what}.", *(names or ("--limit", "-n")), min=least, max=maximum)


def argument(text: str, **details: Any) -> Any:
    return typer.Argument(help=text, **details)


Query = Annotated[str, argument("Text to search for.", metavar="QUERY", callback=require_words)]

Ontology = Annotated[str, option("Ontology to use.", "--ontology", "-o")]
OnlyOntology = Annotated[str | None, option("Only use this ontology.", "--ontology", "-o")]
OnlyOntologies = Annotated[list[str] | None, repeated("Only use this ontology.", "--ontology", "-o")]
WhichOntology = Annotated[str | None, option("Ontology, if several have this document.", "--ontology", "-o")]
IntoOntology = Annotated[str, option("Ontology to ingest the documents into.", "--ontology", "-o")]
Prefix = Annotated[str, option("Prefix to add to the name of each document.")]
Review = Annotated[bool, option("Wait for your approval before kg uses new and changed files.", "--review")]
Where = Annotated[
    list[str] | None,
    option(
        "Filter for documents, such as 'date>=2025-01-01', tags=oncall, 'format in rst,text', "
        "'author exists', 'tags=a || author=Ada && draft=false', or for sources, such as 'page>=3' "
        "or kind=image. If you repeat this option, all filters must match.",
        "--where",
    ),
]
OnlyDocuments = Annotated[
    list[str] | None, repeated("Only search this document: name, ONTOLOGY/NAME or id.", "--document", "-d")
]

Limit = Annotated[int, declare_limit("results to return", MAX_LIMIT)]
Page = Annotated[int, declare_limit("results to return", MAX_PAGE)]
Offset = Annotated[int, option("Number of items to skip.", min=0)]
WINDOW = option("Number of paragraphs to show before and after.", "--window", "-w", min=0, max=MAX_WINDOW)
Neighbours = Annotated[int, WINDOW]
Similarity = Annotated[float | None, option("Minimum cosine similarity.", "--min-similarity", min=-1, max=1)]

Yes = Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")]
Json = Annotated[bool, option("Print the REST response as JSON.", "--json")]
# for commands with output other than the REST response
OwnJson = Annotated[bool, option("Print JSON to use in a program.", "--json")]

# Options of changes


def _get_user(name: str | None) -> str:
    return name or getpass.getuser()


By = Annotated[
    str | None, option("Your name, for the record. Default: your user name.", "--by", callback=_get_user)
]
DryRun = Annotated[bool, option("Show the effects and the cost, but do not change anything.", "--dry-run")]
Create = Annotated[bool, option("Create the ontology if it does not exist.", "--create")]
Watch = Annotated[bool, option("Follow the jobs until they end.", "--watch")]
