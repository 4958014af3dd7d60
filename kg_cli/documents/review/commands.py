"""Documents that wait until they are approved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.wording.plural import pluralize
from kg_cli.documents.library import documents
from kg_cli.terminal.answers import report
from kg_cli.terminal.confirm import confirm
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.exits import SOME_FAILED
from kg_cli.terminal.options import JsonOption, OffsetOption, OnlyOntologyOption, PageOption, YesOption

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.models.library.batches import DocumentOutcome

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="As they are listed.")]
ReviewedOption = Annotated[str, typer.Option("--ontology", "-o", help="Where they wait.")]
AllOption = Annotated[bool, typer.Option("--all", help="All that wait there.")]


@documents.command("waiting")
def list_waiting(
    *,
    ontology: OnlyOntologyOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List documents that wait for approval, with the beginning of each.

    Example: kg documents waiting --ontology notes
    """
    from kg_cli.documents.review.views import print_waiting

    report(
        lambda kg: kg.waiting(ontology, offset=offset, limit=limit),
        partial(print_waiting, offset=offset),
        as_json=as_json,
    )


@documents.command()
def approve(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """Approve documents that wait: they are stored, found and embedded as if they were ingested now.

    --all does not ask: it does what ingesting without --review does. The exit code is 3 when one could not be
    stored; it waits on.

    Example: kg documents approve plan.md --ontology notes
    """
    from kg_cli.documents.review.views import print_approved

    _check(names, everything=everything)
    with open_client() as client:
        if everything:
            outcomes, unknown = _approve_all(client, ontology), list[str]()
        else:
            done = client.approve(ontology=ontology, documents=names)
            outcomes, unknown = done.outcomes, done.unknown
    print_approved(outcomes, unknown, ontology=ontology, as_json=as_json)
    if unknown or any(each.problem for each in outcomes):
        raise typer.Exit(SOME_FAILED)


@documents.command()
def reject(
    names: NamesArgument = None,
    *,
    ontology: ReviewedOption,
    everything: AllOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reject documents that wait: nothing of them is kept; what is stored under their names stays.

    A file of a folder that is followed waits again when it has changed.

    Example: kg documents reject draft.md --ontology notes
    """
    from kg_cli.documents.review.views import print_rejected

    _check(names, everything=everything)
    with open_client() as client:
        if everything:
            if not yes:
                count = client.waiting(ontology, limit=1).total
                confirm(f"Reject {pluralize(count, 'document')} of {ontology}?")
            rejected, unknown = _reject_all(client, ontology), list[str]()
        else:
            done = client.reject(ontology=ontology, documents=names)
            rejected, unknown = done.rejected, done.unknown
    print_rejected(rejected, unknown, ontology=ontology, as_json=as_json)
    if unknown:
        raise typer.Exit(SOME_FAILED)


def _check(names: Sequence[str] | None, *, everything: bool) -> None:
    if bool(names) == everything:
        raise typer.BadParameter("name documents, or say --all: one of the two")


def _approve_all(client: KgClient, ontology: str) -> list[DocumentOutcome]:
    done = client.approve(ontology=ontology, all=True)
    outcomes = list(done.outcomes)
    while done.next:
        done = client.approve(ontology=ontology, all=True, after=done.next)
        outcomes += done.outcomes
    return outcomes


def _reject_all(client: KgClient, ontology: str) -> int:
    done = client.reject(ontology=ontology, all=True)
    rejected = done.rejected
    while done.waiting and done.rejected:
        done = client.reject(ontology=ontology, all=True)
        rejected += done.rejected
    return rejected
