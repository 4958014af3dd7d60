"""Background work: listed, watched, cancelled, tried again."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.models.vocabulary import JobState

AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
JobId = Annotated[str, typer.Argument(help="Job id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="List, watch, cancel and retry background work.", no_args_is_help=True)
    group.command("list")(list_jobs)
    group.command("show")(show_job)
    group.command("watch")(watch)
    group.command("cancel")(cancel)
    group.command("retry")(retry)
    group.command("queue")(queue)
    app.add_typer(group, name="jobs")


def list_jobs(
    *,
    state: Annotated[JobState | None, typer.Option(help="Only in this state; unset: all.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind; `backfill` shows scheduled ones.")] = None,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="Only this ontology.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="Maximum number of results.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first.

    Example: kg jobs list --state running
    """
    from rich.markup import escape

    from kg_cli.jobs.report import print_jobs
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        page = client.jobs(state=state, kind=kind, ontology=ontology, limit=limit)
    if as_json:
        print_json(page.model_dump(mode="json"))
        return
    for note in page.notes:
        say(escape(note))
    print_jobs(page.jobs, kind)
    if page.total > len(page.jobs):
        say(f"{len(page.jobs)} of {page.total} shown; see more with --limit")


def show_job(job_id: JobId, *, as_json: AsJson = False) -> None:
    """Show one job: how far it is, why it stopped, and what to do about it.

    Example: kg jobs show 3f2a9c...
    """
    from kg_cli.jobs.report import print_job
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    with open_client() as client:
        job = client.job(job_id)
        if as_json:
            print_json(job.model_dump(mode="json"))
        else:
            print_job(client, job)


def watch(
    job_id: Annotated[str | None, typer.Argument(help="A job; unset: all unfinished ones.")] = None,
    *,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="Only this ontology.")] = None,
) -> None:
    """Show live progress of jobs until they end. Exits with 1 when one of them is dead or cancelled.

    Example: kg jobs watch
    """
    from kg_cli.jobs.report import print_dead
    from kg_cli.jobs.waiting import unfinished_jobs, wait_for_jobs
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import say

    with open_client() as client:
        ids = [job_id] if job_id else unfinished_jobs(client, ontology=ontology)
        if not ids:
            say("No job is waiting or running.")
        wait_for_jobs(client, ids)
        if job_id is None:
            print_dead(client.queue().dead)


def cancel(job_id: JobId, *, as_json: AsJson = False) -> None:
    """Cancel a waiting or running job. What it has written stays.

    An ontology whose embedding is cancelled is left alone until you ask for it again.

    Example: kg jobs cancel 3f2a9c...
    """
    from rich.markup import escape

    from kg_cli.jobs.words import progress_of
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        job = client.cancel_job(job_id)
    if as_json:
        print_json(job.model_dump(mode="json"))
        return
    say(f"Cancelled; {progress_of(job)} were done. Go on with: kg jobs retry {escape(job.job_id)}")


def retry(job_id: JobId, *, as_json: AsJson = False) -> None:
    """Retry a job that is dead, cancelled or completed with errors; a waiting one starts now.

    One that waits for work that goes before it shares turns with that from now on.

    Example: kg jobs retry 3f2a9c... && kg jobs watch 3f2a9c...
    """
    from rich.markup import escape

    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        job = client.retry_job(job_id)
    if as_json:
        print_json(job.model_dump(mode="json"))
    else:
        say(f"It is queued; follow it with: kg jobs watch {escape(job.job_id)}")


def queue(*, as_json: AsJson = False) -> None:
    """Show the queue: what waits and for how long, and the workers.

    Example: kg jobs queue
    """
    from kg_cli.jobs.report import print_queue
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    with open_client() as client:
        status = client.queue()
    if as_json:
        print_json(status.model_dump(mode="json"))
    else:
        print_queue(status)
