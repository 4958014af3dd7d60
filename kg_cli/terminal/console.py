"""What commands print with, read from, and say of errors."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kg_api.errors import InvalidInput, KgError, UnreadableDocument
from kg_api.local import processes
from kg_api.schemas.answers import AugmentDegradation
from kg_api.schemas.base import Page
from kg_api.schemas.embedding import Cost
from kg_api.schemas.search import Degradation
from kg_api.settings import load_settings
from kg_api.text.decoding import decode
from kg_api.wording import pluralize


def runnable() -> str:
    """`kg` where PATH finds the one that runs, else its file, relative where it is below this directory."""
    own = Path(sys.argv[0]).absolute()
    found = shutil.which("kg")
    if own.name != "kg" or not own.is_file() or (found is not None and own.samefile(found)):
        return "kg"
    here = Path.cwd()
    if own.parent == here:
        return "./kg"
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))


# What commands print with: results on standard output, everything about their doing on standard error.

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
    return SafeConsole(highlight=False)


@cache
def stderr() -> Console:
    return SafeConsole(stderr=True, highlight=False)


def line(text: str | Text, style: str = "") -> None:
    """Print a line of the result, which is not broken; the text is taken as it is."""
    stdout().print(Text(text, style) if isinstance(text, str) else text, soft_wrap=True)


def say(message: str) -> None:
    """Print a line about what the command does; it may be styled with rich's marks."""
    stderr().print(message, soft_wrap=True)


def note(*notes: str | Degradation | AugmentDegradation | None) -> None:
    """Print what there is to know besides; the texts are taken as they are, and None is passed over."""
    for each in notes:
        if each:
            say(f"[yellow]note:[/] {escape(each if isinstance(each, str) else each.effect)}")


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


def print_ranking(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print rows with their numbers, the best first; nothing if there are none."""
    if numbered := [(str(number), *row) for number, row in enumerate(rows, start=1)]:
        print_table(["#", *columns], numbered)


def say_rest(page: Page, shown: int, noun: str, plural: str | None = None) -> None:
    """Say how many items of a list were shown, and how to see the next."""
    seen = page.offset + shown
    more = f"; go on with --offset {seen}" if page.total > seen else ""
    say(f"{shown} of {pluralize(page.total, noun, plural)}{more}")


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


# What embedding will take, as a person reads it.

MINUTE = 60
MIN_EXACT = 0.0001
"""US dollars that are told exactly."""


def cost_rows(cost: Cost) -> list[tuple[str, str]]:
    """Rows of a table of two columns."""
    about = "" if cost.sampled_documents >= cost.documents else "about "
    chunks = about + pluralize(cost.chunks, "chunk")
    what = (
        f"{pluralize(cost.sources, 'source')}: {chunks}" if cost.sources else pluralize(cost.chunks, "text")
    )
    rows = [
        ("to embed", f"{what}, {about}{pluralize(cost.tokens, 'token')}"),
        ("time", _time(cost.seconds)),
        ("price", _money(cost.price)),
    ]
    if cost.context_price is not None:
        rows.append(("price of contexts", _money(cost.context_price)))
    return [*rows, *(("", note) for note in cost.notes)]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    return f"about {seconds:.0f} s" if seconds < 2 * MINUTE else f"about {seconds / MINUTE:.0f} minutes"


def _money(dollars: float | None) -> str:
    if dollars is None:
        return "not known"
    if dollars == 0:
        return "nothing"
    return f"about ${dollars:.4f}" if dollars >= MIN_EXACT else f"less than ${MIN_EXACT}"


# What a person is told of an error that nobody foresaw.


def describe(error: Exception) -> str:
    """Write the trace into a log; say in a line or two what happened and where that log is."""
    what = f"unexpected {type(error).__name__}: {error}"
    try:
        path = load_settings().home.expanduser().absolute() / "logs" / "cli.log"
        processes.make_folder(path.parent)
        processes.limit(path)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"--- {dt.datetime.now(tz=dt.UTC).isoformat()}\n")
            traceback.print_exception(error, file=log)
    except (OSError, KgError):
        return f"{what}\nSet KG_LOG__LEVEL=debug to see where it came from."
    return f"{what}\nThis is a fault of kg. Where it came from is written in {path}"


def trace_when_debugging(error: Exception) -> None:
    """Print the stack trace when KG_LOG__LEVEL is debug."""
    try:
        debugging = load_settings().log.level == "debug"
    except KgError:
        return
    if debugging:
        traceback.print_exception(error)


# Reading texts and conversations from a file or from standard input.

STDIN = Path("-")
_EXAMPLE = '{"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": "Hello"}'


def read_text(path: Path) -> str:
    """The text of a file in any encoding that kg reads; `-` is standard input.

    Raises:
        UnreadableDocument: it cannot be read, or is no text.
    """
    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror or error}") from error
    return decode(content)[0]


def read_messages(path: Path) -> list[dict[str, Any]]:
    """The messages of a file: a JSON list, an object with `messages`, or JSON Lines with one on each.

    Raises:
        UnreadableDocument: the file cannot be read.
        InvalidInput: it holds something else; the message shows what a message is like.
    """
    text = read_text(path)
    try:
        found = json.loads(text)
    except ValueError:
        found = []
        for number, line in numbered_lines(text):
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                raise _wrong(path, f"line {number} is not valid JSON") from None
    except RecursionError:
        raise _wrong(path, "is nested too deeply") from None
    if isinstance(found, dict):  # an object with messages, or a single line of JSON Lines
        table = cast("dict[str, Any]", found)
        found = table.get("messages", [table])
    messages = cast("list[Any]", found) if isinstance(found, list) else [found]
    if not all(isinstance(each, dict) for each in messages):
        raise _wrong(path, "holds something that is no message")
    return messages


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file; `-` is standard input.

    Raises:
        UnreadableDocument: the file cannot be read.
        InvalidInput: it holds something else.
    """
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{_name(path)} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{_name(path)} holds no JSON object; write {{...}}")
    return cast("dict[str, Any]", found)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, counted from 1."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _name(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)


def _wrong(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{_name(path)}: {why}. A conversation is a JSON list, or lines, of messages like {_EXAMPLE}"
    )
