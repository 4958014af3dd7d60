"""Options of commands that take documents in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_api.models.library.formats import OcrMode


def named_path(text: str) -> Path:
    """A path that a person named; an empty one, as of a variable that is not set, would be this folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty; `.` is the folder you are in")
    return Path(text)


IntoOntologyOption = Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the documents.")]
PrefixOption = Annotated[str, typer.Option(help="Prefix for each document's name.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until everything is embedded.")]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Metadata of each document; repeat."),
]
ListsOption = Annotated[
    list[str] | None,
    typer.Option("--list", metavar="KEY=A,B", help="A list, its values separated by commas; repeat."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Only files of folders that fit, as in .gitignore; repeat."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="PATTERN", help="Leave out files and folders that fit, as in .gitignore; repeat."
    ),
]
ReviewOption = Annotated[
    bool, typer.Option("--review", help="Let new and changed files wait until they are approved.")
]
OcrOption = Annotated[
    OcrMode,
    typer.Option("--ocr", help="PDF pages that OCR reads: those without readable text, all, or none."),
]
SkipDuplicatesOption = Annotated[
    bool,
    typer.Option("--skip-duplicates", help="Leave out new files whose text another document has already."),
]
GitignoreOption = Annotated[
    bool,
    typer.Option("--gitignore/--no-gitignore", help="Leave out what .gitignore files in folders name."),
]
