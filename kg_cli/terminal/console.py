"""Output of commands: results on stdout, messages on stderr. `kg --help` does not load rich."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kg_api.errors import InvalidInput, KgError, UnreadableDocument
from kg_api.wording import pluralize

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment
    from rich.text import Text

    from kg_api.schemas.embedding import Cost

Part: TypeAlias = "str | tuple[str, str]"  # text, or text and style
Shown: TypeAlias = "str | Text | Sequence[Part]"

# control characters of terminals, and characters that change the writing direction
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def get_runnable() -> str:
    """Return `kg` if the running kg is on PATH, or else its path, relative to this directory if possible."""
    program = Path(sys.argv[0]).absolute()
    found = shutil.which("kg")
    if program.name != "kg" or not program.is_file() or (found is not None and program.samefile(found)):
        return "kg"
    folder = Path.cwd()
    if program.parent == folder:
        return "./kg"
    return shlex.quote(str(program.relative_to(folder) if program.is_relative_to(folder) else program))


def escape_text(text: str) -> str:
    """Replace control characters with `�`."""
    return _CONTROL_CHARACTERS.sub("\ufffd", text.replace("\r\n", "\n"))


def _open_console(*, stderr: bool) -> Console:
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    class SafeConsole(Console):
        """Console that escapes control characters in all texts, except in its own styles."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            if isinstance(renderable, Text) and _CONTROL_CHARACTERS.search(renderable.plain):
                renderable = renderable.copy()
                # The styles still apply, because the length is the same
                renderable.plain = _CONTROL_CHARACTERS.sub("\ufffd", renderable.plain)
            for each in super().render(renderable, options):
                yield each if each.control else Segment(escape_text(each.text), each.style)

    return SafeConsole(stderr=stderr, highlight=False)


@cache
def stdout() -> Console:
    return _open_console(stderr=False)


@cache
def stderr() -> Console:
    return _open_console(stderr=True)


def style_text(shown: Shown, style: str = "") -> Text:
    """Return a styled text. Markup in the text is not interpreted."""
    from rich.text import Text

    if isinstance(shown, Text):
        return shown
    return Text(shown, style) if isinstance(shown, str) else Text.assemble(*shown)


def line(shown: Shown, style: str = "") -> None:
    """Print a line of the result without wrapping."""
    stdout().print(style_text(shown, style), soft_wrap=True)


def block(shown: Shown, style: str = "") -> None:
    """Print text of the result, wrapped at the width of the terminal."""
    stdout().print(style_text(shown, style))


def say(shown: Shown) -> None:
    """Print a message to standard error."""
    stderr().print(style_text(shown), soft_wrap=True)


def note(*notes: str | None) -> None:
    """Print each note that is not empty."""
    for each in filter(None, notes):
        say([("note: ", "yellow"), each])


def complain(message: str) -> None:
    say([("kg: ", "bold red"), message])


def is_watched() -> bool:
    """Check if the output goes to a terminal, and not to a CI log."""
    return sys.stdout.isatty() and "CI" not in os.environ


def open_browser(url: str) -> bool:
    """Open a URL in a graphical browser. Return whether there is one."""
    import webbrowser

    linux = sys.platform.startswith("linux")
    if linux and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False  # webbrowser would start a text browser in this terminal
    return webbrowser.open(url)


def format_megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def print_json(value: Any) -> None:
    """Print a value as one JSON document in UTF-8 without colours."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Shown]],
    *,
    title: str | None = None,
    to: Console | None = None,
) -> None:
    """Print rows as a table, by default to standard output."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")  # never truncate an id
    for row in rows:
        table.add_row(*map(style_text, row))
    (to or stdout()).print(table)


def progress(unit: str = "") -> Progress:
    """Return a progress bar on standard error. `add_task(text, total=n)` in its context starts a task."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
    """Show a live line with the reason and duration of a wait. Without a terminal, print each reason once."""
    screen, started, last = stderr(), time.monotonic(), ""
    with (
        screen.status("", refresh_per_second=5) if screen.is_terminal else contextlib.nullcontext() as status
    ):

        def show(text: str) -> None:
            nonlocal last
            if status is not None:
                status.update(style_text(f"waiting for {text} ({time.monotonic() - started:.0f} s)"))
            elif text != last:
                say(f"waiting for {text}")
            last = text

        yield show


# Cost of embedding

MINUTE = 60
MIN_EXACT = 0.0001  # US dollars: kg shows smaller prices as `less than`


def build_cost_rows(cost: Cost) -> list[tuple[str, str]]:
    about = "" if cost.sampled_documents >= cost.documents else "about "
    chunks = pluralize(cost.chunks, "chunk" if cost.sources else "text")
    texts = f"{pluralize(cost.sources, 'source')}: {about}{chunks}" if cost.sources else chunks
    seconds = cost.seconds
    rows = [
        ("to embed", f"{texts}, {about}{pluralize(cost.tokens, 'token')}"),
        (
            "time",
            "unknown"
            if seconds is None
            else f"about {seconds:.0f} s"
            if seconds < 2 * MINUTE
            else f"about {seconds / MINUTE:.0f} minutes",
        ),
        ("price", describe_price(cost.price)),
    ]
    if cost.context_price is not None:
        rows.append(("price of contexts", describe_price(cost.context_price)))
    return [*rows, *(("", each) for each in cost.notes)]


def describe_price(dollars: float | None) -> str:
    if not dollars:
        return "unknown" if dollars is None else "free"
    return f"about ${dollars:.4f}" if dollars >= MIN_EXACT else f"less than ${MIN_EXACT}"


# Unexpected errors


def describe(error: Exception) -> str:
    message = f"unexpected {type(error).__name__}: {error}"
    return f"{message}\nThis is a bug in kg. Set KG_LOG__LEVEL=debug to see the stack trace."


def trace_when_debugging(error: Exception) -> None:
    """Print the stack trace if KG_LOG__LEVEL is debug."""
    from kg_api.settings import load_settings

    with contextlib.suppress(KgError):
        if load_settings().log.level == "debug":
            traceback.print_exception(error)


# Input from a file or from standard input

STDIN = Path("-")
_EXAMPLE = '{"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": "Hello"}'


def read_text(path: Path) -> str:
    """Read a file in any supported encoding. `-` is standard input."""
    from kg_api.text.decoding import decode

    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror or error}") from error
    return decode(content)[0]


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Read a conversation: a JSON list, an object with `messages`, or JSON Lines."""

    def fail(reason: str) -> InvalidInput:
        expected = f"A conversation is a JSON list, or lines, of messages like {_EXAMPLE}"
        return InvalidInput(f"{_describe_path(path)}: {reason}. {expected}")

    text = read_text(path)
    try:
        value = json.loads(text)
    except ValueError:
        value = []
        for number, each in number_lines(text):
            try:
                value.append(json.loads(each))
            except (ValueError, RecursionError):
                raise fail(f"line {number} is not valid JSON") from None
    except RecursionError:
        raise fail("the JSON is nested too deeply") from None
    if isinstance(value, dict):  # an object with messages, or a single line of JSON Lines
        fields = cast("dict[str, Any]", value)
        value = fields.get("messages", [fields])
    messages = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in messages):
        raise fail("an item is not a message")
    return messages


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object of a file. `-` is standard input."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{_describe_path(path)} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{_describe_path(path)} contains no JSON object. Write {{...}}")
    return cast("dict[str, Any]", value)


def number_lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, each) for number, each in enumerate(text.split("\n"), start=1) if each.strip())


def _describe_path(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)
