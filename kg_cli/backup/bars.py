"""How far a backup or a restore is: one bar for each step, or what is waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from kg_api.backup.making import BackupProgress
from kg_cli.terminal import console


class StepBars:
    """Shows one step at a time; without a terminal each is told once."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._last = ""

    def begin(self, words: str, total: int | None) -> None:
        """Show a step of so many bytes; None: nobody knows how long it takes."""
        if words == self._last:
            return
        self._last = words
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(words, total=total)
        if not self._bars.console.is_terminal:
            console.say(words)

    def advance(self, count: int) -> None:
        """Tell of bytes that are done."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def wait(self, reason: str) -> None:
        self.begin(f"waiting for {reason}", None)


@contextlib.contextmanager
def showing() -> Generator[BackupProgress]:
    """Show steps on standard error."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as bars:
        steps = StepBars(bars)
        yield BackupProgress(steps.begin, steps.advance, steps.wait)
