"""Taking a conversation in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.wording.plural import pluralize
from kg_cli.documents.options import IntoOntologyOption, WaitOption
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption

if TYPE_CHECKING:
    from kg_api.models.library.documents import Ingested


def conversation(
    file: Annotated[
        Path, typer.Argument(help="JSON or JSON Lines; - reads standard input.", allow_dash=True)
    ],
    *,
    ontology: IntoOntologyOption,
    title: Annotated[
        str,
        typer.Option(
            "--title",
            "-t",
            help="Title and name of the conversation; an existing one of that name is replaced.",
        ),
    ],
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest a conversation as one document, each message as a section.

    The file is a JSON list of messages, or has one on each line. A message has author, text and, if it is
    known, timestamp (ISO 8601 with a zone). When it has gone on, the same title again embeds what is new.

    Example: kg conversation standup.jsonl --ontology talks --title "Standup of 1 March" --wait
    """
    from kg_cli.jobs.waiting import wait_until_embedded
    from kg_cli.terminal.inputs import read_messages

    messages = read_messages(file)
    with open_client() as client:
        told = client.ingest_conversation(messages, ontology=ontology, title=title)
        if wait:
            wait_until_embedded(client, ontology, [told.job_id] if told.job_id else [])
    emit(told, _print, as_json=as_json)


def _print(told: Ingested) -> None:

    from kg_cli.terminal import console

    sources = told.sources
    changes = f"{pluralize(sources.added, 'source')} added, {sources.kept} kept, {sources.removed} removed"
    console.line(f"{told.ontology} / {told.document}: {told.change}; {changes}")
    for note in told.notes:
        console.line(f"  note: {note}")
