"""Options and arguments that several commands share: one word means one thing everywhere."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kg_api.models.vocabulary import MAX_LIMIT, MAX_PAGE, MAX_WINDOW


def require_words(text: str) -> str:
    """What was typed, unless it is blank.

    Raises:
        BadParameter: it is.
    """
    if not text.strip():
        raise typer.BadParameter("it is blank: say what to look for")
    return text


QueryArgument = Annotated[
    str, typer.Argument(help="What to look for, in plain words.", callback=require_words)
]

OntologyOption = Annotated[str, typer.Option("--ontology", "-o", help="The ontology.")]
OnlyOntologyOption = Annotated[str | None, typer.Option("--ontology", "-o", help="Only this ontology.")]
OnlyOntologiesOption = Annotated[
    list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology; repeat for several.")
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only documents for which this holds, such as 'date>=2025-01-01', tags=oncall, "
        "'format in rst,text', 'author exists', 'tags=a || author=Ada && draft=false', and of them "
        "only sources such as 'page>=3', kind=image; "
        "repeat: all must hold.",
    ),
]
OnlyDocumentsOption = Annotated[
    list[str] | None,
    typer.Option("--document", "-d", help="Only this document: its name, ONTOLOGY/NAME or id; repeat."),
]

LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, help="Maximum number of results.")
]
PageOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_PAGE, help="Maximum number of results.")
]
OffsetOption = Annotated[int, typer.Option(min=0, help="Number of items to skip.")]
NeighboursOption = Annotated[
    int, typer.Option("--window", "-w", min=0, max=MAX_WINDOW, help="Paragraphs before and after.")
]

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
OwnJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
"""Where a command tells more, or other things, than one answer of the service."""


def given(**options: Any) -> dict[str, Any]:
    """What was named; the rest is as the service has it."""
    return {name: value for name, value in options.items() if value is not None}
