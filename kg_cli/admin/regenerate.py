"""`kg admin regenerate-embeddings`: making embeddings anew, of one ontology or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kg_api.models.vocabulary import EmbeddedKind

if TYPE_CHECKING:
    from kg_api.models.embedding.regeneration import RegenerationStarted
    from kg_api.models.jobs import Selection


def regenerate(
    *,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="The ontology.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All ontologies.")] = False,
    kind: Annotated[
        Literal[EmbeddedKind, "all"], typer.Option("--type", help="What to regenerate.")
    ] = "source",
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Only sources that were never embedded.")
    ] = False,
    only_stale: Annotated[
        bool, typer.Option("--only-stale", help="Only sources embedded with another model or configuration.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Regenerate up-to-date embeddings as well, without the cache.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show counts, tokens, cost and time; change nothing.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Regenerate embeddings: those missing or stale, or all of them with --force.

    Example: kg admin regenerate-embeddings --ontology notes --only-stale --dry-run
    """
    from kg_cli.jobs.waiting import wait_for_jobs
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    selection = _selection(
        ontology, everything=everything, missing=only_missing, stale=only_stale, force=force
    )
    with open_client() as client:
        started = client.regenerate_embeddings(
            ontology, kind=kind, selection=selection, force=force, dry_run=dry_run
        )
        if as_json:
            print_json(started.model_dump(mode="json"))
        else:
            _print(started, dry_run=dry_run)
        if watch:
            wait_for_jobs(client, [each.job_id for each in started.ontologies if each.job_id])


def _selection(
    ontology: str | None, *, everything: bool, missing: bool, stale: bool, force: bool
) -> Selection:
    from kg_api.errors import InvalidInput

    if (ontology is None) != everything:
        raise InvalidInput("name one collection with --ontology, or all of them with --all")
    if missing + stale + force > 1:
        raise InvalidInput("--only-missing, --only-stale and --force exclude each other: give one, or none")
    return "missing" if missing else "stale" if stale else "due"


def _print(started: RegenerationStarted, *, dry_run: bool) -> None:
    from kg_cli.terminal.console import print_table, say
    from kg_cli.terminal.costs import cost_rows

    for each in started.ontologies if dry_run else ():
        if each.cost is not None and each.due:
            print_table(["what", "it takes"], cost_rows(each.cost), title=f"{each.ontology}: {each.type}s")
    if not dry_run and started.ontologies:
        rows = [[each.ontology, each.type, str(each.due), each.job_id or "-"] for each in started.ontologies]
        print_table(["ontology", "of", "to embed", "job"], rows)
    if not started.due:
        say("Nothing is to be embedded.")
    for note in started.notes:
        say(f"note: {note}")
    if any(each.job_id for each in started.ontologies):
        say("follow it with: kg jobs watch")
