"""What commands print with: results on standard output, everything about their doing on standard error."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing it, and what turns the direction of writing."""


def escape_text(text: str) -> str:
    """A stranger's text for a terminal: what it would obey stands as `�`."""
    return _COMMANDS.sub("\ufffd", text.replace("\r\n", "\n"))


class SafeConsole(Console):
    """Prints all texts as `escape_text`; only its own styles command the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See `Console`: all that is printed comes through here, cells of tables too."""
        if isinstance(renderable, Text) and _COMMANDS.search(renderable.plain):
            renderable = renderable.copy()
            renderable.plain = _COMMANDS.sub("\ufffd", renderable.plain)  # as long as it was: styles stay
        for each in super().render(renderable, options):
            yield each if each.control else Segment(escape_text(each.text), each.style)


@cache
def stdout() -> Console:
    """Give the console for results."""
    return SafeConsole(highlight=False)


@cache
def stderr() -> Console:
    """Give the console for progress, hints and errors."""
    return SafeConsole(stderr=True, highlight=False)


def line(text: str | Text, style: str = "") -> None:
    """Print a line of the result, which is not broken; the text is taken as it is."""
    stdout().print(Text(text, style) if isinstance(text, str) else text, soft_wrap=True)


def say(message: str) -> None:
    """Print a line about what the command does; it may be styled with rich's marks."""
    stderr().print(message, soft_wrap=True)


def note(*texts: str) -> None:
    """Print what there is to know besides; the texts are taken as they are."""
    for text in texts:
        say(f"[yellow]note:[/] {escape(text)}")


def complain(message: str) -> None:
    """Print an error as one block. Its text is taken as it is."""
    stderr().print(Text.assemble(("kg: ", "bold red"), message), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON for programs: one document, UTF-8, no colours, whatever the terminal."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    title: str | None = None,
    to: Console | None = None,
) -> None:
    """Print rows for people, as a result if nothing else is said. Plain strings are printed as they are."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")  # an id that is cut short is of no use
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    (to or stdout()).print(table)


def progress(unit: str = "") -> Progress:
    """Give a progress bar on standard error, a context manager; `add_task(words, total=n)` starts one."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=stderr(),
        transient=True,
    )


@contextlib.contextmanager
def waiting_line() -> Generator[Callable[[str], None]]:
    """Show one live line that says what is being waited for, and for how long.

    Gives a function that takes the line's text. Without a terminal each new text is printed once.
    """
    console, started, last = stderr(), time.monotonic(), ""
    with (
        console.status("", refresh_per_second=5)
        if console.is_terminal
        else contextlib.nullcontext() as status
    ):

        def show(text: str) -> None:
            nonlocal last
            if status is not None:
                status.update(Text(f"waiting for {text} ({time.monotonic() - started:.0f} s)"))
            elif text != last:
                console.print(Text(f"waiting for {text}"), soft_wrap=True)
            last = text

        yield show
