"""Options that several ways of searching share."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import typer

from kg_api.schemas.vocabulary import MAX_HYPOTHETICAL, MAX_WINDOW, SearchMode, SourceKind

ModeOption = Annotated[SearchMode, typer.Option(help="Search by vectors, full text, or both (hybrid).")]
KindOption = Annotated[
    SourceKind | None, typer.Option("--kind", help="Only sources of this kind, such as image.")
]
SimilarityOption = Annotated[float | None, typer.Option(min=-1, max=1, help="Minimum cosine similarity.")]
CalibratedOption = Annotated[
    float | None, typer.Option(min=-1, max=1, help="Minimum similarity; unset: calibrated for the model.")
]
RerankOption = Annotated[
    bool, typer.Option("--rerank", help="Rerank the best hits with a cross-encoder; slower.")
]
HydeOption = Annotated[
    str, typer.Option(help="Number of hypothetical answers to search with (HyDE): 0 to 5, or auto.")
]
ThroughConceptsOption = Annotated[
    bool, typer.Option("--concepts", help="Also find passages through concepts and their relationships.")
]
GraphOption = Annotated[
    bool, typer.Option("--graph", help="Keep the first five hits and fill up behind them through concepts.")
]
MmrOption = Annotated[
    float | None,
    typer.Option("--mmr", min=0, max=1, help="MMR lambda: 1 is relevance only, 0 is diversity only."),
]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Compare every vector, not by the approximate index; slower.")
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window",
        "-w",
        min=0,
        max=MAX_WINDOW,
        help="Return reading windows: this many paragraphs around each hit.",
    ),
]
CursorOption = Annotated[
    str | None,
    typer.Option(help="Show the next page: the cursor printed below the last one, all else being the same."),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")]
FullOption = Annotated[bool, typer.Option("--full", help="Show whole passages, not only the matching part.")]


def hypothetical(given: str) -> int | Literal["auto"]:
    """The value of --hyde: `auto`, or a number.

    Raises:
        BadParameter: it is neither.
    """
    if given == "auto":
        return "auto"
    if given.isdecimal() and given.isascii():
        return int(given)
    raise typer.BadParameter(f"{given!r} is neither a number from 0 to {MAX_HYPOTHETICAL} nor auto.")


def without_place(citation: str) -> str:
    """What a citation is of: the source's id; a name may have a `#` of its own."""
    return re.sub(r"#\d+-\d+$", "", citation)
