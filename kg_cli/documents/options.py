"""Options of commands that take documents in."""

from __future__ import annotations

from typing import Annotated

import typer

IntoOntologyOption = Annotated[str, typer.Option("--ontology", "-o", help="Ontology for the documents.")]
PrefixOption = Annotated[str, typer.Option(help="Prefix for each document's name.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until everything is embedded.")]
