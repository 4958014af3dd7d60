"""Live bars of jobs. They fit into 80 columns; a reason that is longer stands on a line of its own, once."""

from __future__ import annotations

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Column

from kg_api.models.jobs import FINISHED, Job
from kg_cli.jobs.words import name_of, speed_of, total_of, waits_for
from kg_cli.terminal import console

WIDEST_NAME = 30
"""Columns."""


class JobBars(Progress):
    """A bar for each job that was shown. A context manager."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn(
                "{task.description}",
                table_column=Column(no_wrap=True, overflow="ellipsis", max_width=WIDEST_NAME),
            ),
            BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=5)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[speed]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console.stderr(),
            expand=True,
        )
        self._bars: dict[str, TaskID] = {}
        self._reasons: dict[str, str | None] = {}
        self._waits: dict[str, str | None] = {}

    def show(self, job: Job) -> None:
        if job.job_id not in self._bars:
            self._bars[job.job_id] = self.add_task(escape(name_of(job)), total=None, speed="")
        self._print_reason(job)
        self._print_wait(job)
        self.update(self._bars[job.job_id], completed=job.done, total=total_of(job), speed=speed_of(job))

    def _print_reason(self, job: Job) -> None:
        if job.error and job.error != self._reasons.get(job.job_id) and job.state not in FINISHED:
            console.say(escape(f"{name_of(job)}: {job.error}"))
        self._reasons[job.job_id] = job.error

    def _print_wait(self, job: Job) -> None:
        """Say once of each job that it waits for, how far that is; the bar goes on telling it in short."""
        ahead = job.waits_for
        if ahead and ahead.job_id != self._waits.get(job.job_id):
            console.say(escape(f"{name_of(job)} {waits_for(ahead)}"))
        self._waits[job.job_id] = ahead.job_id if ahead else None
