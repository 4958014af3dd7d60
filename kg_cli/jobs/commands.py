"""Background work: listed, watched, cancelled, tried again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import JobState
from kg_cli.terminal.connect import JsonOption, OnlyOntologyOption, PageOption, emit, open_client, report
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.jobs import report as views
else:
    views = LateModule("kg_cli.jobs.report")

KIND_HELP = "Only this kind; unset: all but the scheduled backfill, link_proposal and community_detection."
JobArgument = Annotated[str, typer.Argument(help="Job id.")]

group = typer.Typer(help="List, watch, cancel and retry background work.", no_args_is_help=True)


@group.command("list")
def list_jobs(
    *,
    state: Annotated[JobState | None, typer.Option(help="Only in this state; unset: all.")] = None,
    kind: Annotated[str | None, typer.Option(help=KIND_HELP)] = None,
    ontology: OnlyOntologyOption = None,
    limit: PageOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List jobs, the newest first.

    Example: kg jobs list --state running
    """
    report(
        lambda kg: kg.jobs(state=state, kind=kind, ontology=ontology, limit=limit),
        partial(views.print_page, kind=kind),
        as_json=as_json,
    )


@group.command("show")
def show_job(job_id: JobArgument, *, as_json: JsonOption = False) -> None:
    """Show one job: how far it is, why it stopped, and what to do about it.

    Example: kg jobs show 3f2a9c...
    """
    with open_client() as client:
        emit(client.job(job_id), partial(views.print_job, client), as_json=as_json)


@group.command()
def watch(
    job_id: Annotated[str | None, typer.Argument(help="A job; unset: all unfinished ones.")] = None,
    *,
    ontology: OnlyOntologyOption = None,
) -> None:
    """Show live progress of jobs until they end. Exits with 1 when one of them is dead or cancelled.

    Example: kg jobs watch
    """
    with open_client() as client:
        ids = [job_id] if job_id else views.unfinished_jobs(client, ontology=ontology)
        if not ids:
            views.console.say("No job is waiting or running.")
        views.wait_for_jobs(client, ids)
        if job_id is None:
            views.print_dead(client.queue().dead)


@group.command()
def cancel(job_id: JobArgument, *, as_json: JsonOption = False) -> None:
    """Cancel a waiting or running job. What it has written stays.

    An ontology whose embedding is cancelled is left alone until you ask for it again.

    Example: kg jobs cancel 3f2a9c...
    """
    report(lambda kg: kg.cancel_job(job_id), views.print_cancelled, as_json=as_json)


@group.command()
def retry(job_id: JobArgument, *, as_json: JsonOption = False) -> None:
    """Retry a job that is dead, cancelled or completed with errors; a waiting one starts now.

    One that waits for work that goes before it shares turns with that from now on.

    Example: kg jobs retry 3f2a9c... && kg jobs watch 3f2a9c...
    """
    report(lambda kg: kg.retry_job(job_id), views.print_retried, as_json=as_json)


@group.command()
def queue(*, as_json: JsonOption = False) -> None:
    """Show the queue: what waits and for how long, and the workers.

    Example: kg jobs queue
    """
    report(lambda kg: kg.queue(), views.print_queue, as_json=as_json)
