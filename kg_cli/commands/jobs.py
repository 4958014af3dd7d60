"""Watching background work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from kg_api.models.jobs import Job

LONGEST_ERROR = 200
"""Characters of an error in a list; `kg jobs show` gives all."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="List and watch background work.", no_args_is_help=True)
    group.command("list")(list_jobs)
    group.command("show")(show_job)
    group.command("watch")(watch)
    app.add_typer(group, name="jobs")


def list_jobs(
    *,
    state: Annotated[
        str | None, typer.Option(help="queued, running, completed, cancelled or dead; unset: all.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind; `backfill` shows scheduled ones.")] = None,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="Only of this one.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first.

    Example: kg jobs list --state running
    """
    from kg_cli.connect import open_client
    from kg_cli.console import print_json, print_table, say

    with open_client() as client:
        page = client.jobs(state=state, kind=kind, ontology=ontology, limit=limit)
    if as_json:
        print_json(page.model_dump(mode="json"))
        return
    print_table(["job", "state", "progress"], map(_row, page.jobs))
    if page.total > len(page.jobs):
        say(f"{len(page.jobs)} of {page.total} shown; see more with --limit")


def show_job(job_id: Annotated[str, typer.Argument(help="Its id.")], *, as_json: AsJson = False) -> None:
    """Show one job.

    Example: kg jobs show 3f2a9c...
    """
    from kg_cli.connect import open_client
    from kg_cli.console import print_json, print_table

    with open_client() as client:
        job = client.job(job_id)
    if as_json:
        print_json(job.model_dump(mode="json"))
    else:
        print_table(
            ["field", "value"],
            ([name, "-" if value is None else str(value)] for name, value in job.model_dump().items()),
        )


def watch(
    job_id: Annotated[str | None, typer.Argument(help="A job; unset: all unfinished ones.")] = None,
) -> None:
    """Follow jobs with a live bar until they end.

    Example: kg jobs watch
    """
    from kg_cli.connect import open_client
    from kg_cli.console import say
    from kg_cli.waiting import unfinished_jobs, wait_for_jobs

    with open_client() as client:
        ids = [job_id] if job_id else unfinished_jobs(client)
        if not ids:
            say("No job is waiting or running.")
        wait_for_jobs(client, ids)


def _row(job: Job) -> tuple[Text, str, str]:
    """The id stands on a line of its own, so that it can be copied from a terminal of 80 columns."""
    from rich.text import Text

    about = f"{job.kind} {job.ontology or ''}\n{job.created_at:%Y-%m-%d %H:%M:%S} UTC"
    progress = f"{job.done}/{job.total}" + (f" ({job.rate:.0f}/s)" if job.rate else "")
    error = f"\n{job.error[:LONGEST_ERROR]}" if job.error else ""
    return Text.assemble(job.job_id, (f"\n{about}", "dim"), (error, "red"), "\n"), job.state.value, progress
