"""What an ingest would make and cost, before anything is stored."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial

import typer
from rich.console import Console

from kg_api.client import KgClient
from kg_api.errors import KgError, Unavailable
from kg_api.models.embedding.configuration import Cost, DocumentPreview
from kg_api.parse.files import FileSelection, FileToIngest
from kg_cli.documents.upload import PARALLEL_UPLOADS, Destination, send_file
from kg_cli.terminal import console
from kg_cli.terminal.costs import cost_rows


class Decision(StrEnum):
    GO_ON = "go on"
    STOP = "stop"
    """A person said no, or a program asked for the preview alone."""
    NOBODY_TO_ASK = "nobody to ask"
    """There is no terminal, and nothing says yes."""


def show_preview(
    client: KgClient, selection: FileSelection, into: Destination, *, yes: bool, as_json: bool
) -> Decision:
    """Show what taking in the files would make and cost, and ask whether to go on.

    Without a terminal only `yes` goes on.
    """
    with console.progress("documents") as bar, ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        task = bar.add_task("looking", total=len(selection.files))
        found: list[DocumentPreview | None] = []
        for each in pool.map(partial(_one, client, into), selection.files):
            bar.advance(task)
            found.append(each)
    previews = [each for each in found if each is not None]
    total = sum_costs([each.cost for each in previews])
    if as_json and not yes:
        documents = [each.model_dump(mode="json") for each in previews]
        console.print_json({"preview": documents, "cost": total.model_dump(), "stored": False})
    else:
        to = console.stderr() if as_json else console.stdout()  # the outcome is the one JSON document
        _show(previews, total, into.ontology, unreadable=len(found) - len(previews), to=to)
    return Decision.GO_ON if yes else _decision(as_json=as_json)


def _decision(*, as_json: bool) -> Decision:
    if as_json:
        console.say("Nothing was stored: this is a preview. --yes goes on without asking.")
        return Decision.STOP
    if not sys.stdin.isatty():
        console.complain("nothing was stored: there is no terminal to ask; --yes goes on without asking")
        return Decision.NOBODY_TO_ASK
    if typer.confirm("Go on?", err=True):
        return Decision.GO_ON
    console.say("Nothing was stored.")
    return Decision.STOP


def sum_costs(costs: Sequence[Cost]) -> Cost:
    """The costs of several documents together; what is not known of one is not known of all."""
    return Cost(
        documents=sum(each.documents for each in costs),
        sampled_documents=sum(each.sampled_documents for each in costs),
        sources=sum(each.sources for each in costs),
        chunks=sum(each.chunks for each in costs),
        tokens=sum(each.tokens for each in costs),
        seconds=_together([each.seconds for each in costs]),
        price=_together([each.price for each in costs]),
        context_price=_together([each.context_price for each in costs]),
        notes=list(dict.fromkeys(note for each in costs for note in each.notes)),
    )


def _together(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _one(client: KgClient, into: Destination, file: FileToIngest) -> DocumentPreview | None:
    """None for a file that cannot be read; the ingest tells why."""
    try:
        return send_file(client.preview_bytes, file, into)
    except Unavailable:
        raise
    except (OSError, KgError):
        return None


def _show(
    previews: Sequence[DocumentPreview], total: Cost, ontology: str, *, unreadable: int, to: Console
) -> None:
    changes = Counter(each.change for each in previews)
    rows = [
        (
            "documents",
            f"{changes['created']} new, {changes['updated']} changed, {changes['unchanged']} unchanged"
            + (f", {changes['skipped']} skipped" if changes["skipped"] else "")
            + (f", {unreadable} cannot be read" if unreadable else ""),
        ),
        ("strategy", next((each.config.strategy for each in previews), "-")),
        ("space", next((each.config.space for each in previews), "-")),
        *cost_rows(total),
    ]
    console.print_table(["what", "how much"], rows, title=f"{ontology} (nothing is stored yet)", to=to)
