"""`kg jobs`: background work."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.schemas.vocabulary import JobState
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import command, make_group, message
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option

KIND_HELP = "Only this kind. Default: all kinds except backfill, link_proposal, and community_detection."
JobArgument = Annotated[str, argument("Id of the job.")]


def read_state(value: str) -> JobState:
    """Return the state, also for its name until kg 0.2."""
    try:
        return JobState(value)
    except ValueError:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(JobState)}") from None


group = make_group("List, watch, cancel and retry background work.")


@command(group, "list", asks="jobs", show="kg_cli.jobs.report:print_page")
def list_jobs(
    *,
    state: Annotated[
        JobState | None,
        option("Only show jobs in this state.", parser=read_state, metavar="|".join(JobState)),
    ] = None,
    kind: Annotated[str | None, option(KIND_HELP)] = None,
    ontology: options.OnlyOntology = None,
    limit: options.Page = 20,
) -> None:
    """List jobs, the newest first.

    Example: kg jobs list --state running
    """


@command(group, "show", asks="job", show="kg_cli.jobs.report:print_job")
def show_job(job_id: JobArgument) -> None:
    """Show one job with its progress, and the reason and the fix if it stopped.

    Example: kg jobs show 3f2a9c...
    """


@group.command()
def watch(
    job_id: Annotated[str | None, argument("Id of the job to watch. Default: all unfinished jobs.")] = None,
    *,
    ontology: options.OnlyOntology = None,
) -> None:
    """Show live progress of jobs until they end. Exits with 1 if a job failed or was cancelled.

    Example: kg jobs watch
    """
    from kg_cli.jobs.report import list_unfinished_jobs, report_failed_jobs, wait_for_jobs

    with open_client() as client:
        ids = [job_id] if job_id else list_unfinished_jobs(client, ontology=ontology)
        if not ids:
            console.say("No job is waiting or running.")
        wait_for_jobs(client, ids)
        if job_id is None:
            report_failed_jobs(client, ontology)


@command(
    group,
    asks="cancel_job",
    show=message("Cancelled after {0.done} of {0.total}. Continue with: kg jobs retry {0.job_id}"),
)
def cancel(job_id: JobArgument) -> None:
    """Cancel a waiting or running job. Data that it has written stays.

    After the cancellation of an embedding job, kg embeds the ontology only on request.

    Example: kg jobs cancel 3f2a9c...
    """


@command(group, asks="retry_job", show=message("The job is queued. Follow it: kg jobs watch {0.job_id}"))
def retry(job_id: JobArgument) -> None:
    """Retry a job that failed, was cancelled or succeeded with errors. A waiting job starts now.

    A job that waits for another job then runs in parallel with it.

    Example: kg jobs retry 3f2a9c... && kg jobs watch 3f2a9c...
    """


@command(group, asks="queue", show="kg_cli.jobs.report:print_queue")
def queue() -> None:
    """Show the queue: waiting jobs with their waiting time, and the workers.

    Example: kg jobs queue
    """
