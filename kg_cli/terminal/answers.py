"""Groups of commands, commands that send one request, and their output: JSON, or a view for people."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from importlib import import_module
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperGroup

from kg_api.wording import pluralize
from kg_cli.terminal import console
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.console import Shown
from kg_cli.terminal.options import Json

if TYPE_CHECKING:
    from pydantic import BaseModel

Column: TypeAlias = "str | Callable[[Any], Shown]"  # field of a row, or a function of the row
SHORT_ID = 8
AnswerT = TypeVar("AnswerT")
View: TypeAlias = Callable[..., None]
# by command: client method, view and options, which tests compare with the models
ANSWERED: dict[str, tuple[str, View | str | None, list[str]]] = {}


class Group(TyperGroup):
    """Group of commands. Without a command, a group with `list` runs it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "list" in self.commands and not any(each in {"-h", "--help"} for each in args[:1]):
            args = args if args and not args[0].startswith("-") else ["list", *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the summaries in full, on several lines if necessary. Click truncates them."""
        commands = ((name, self.commands[name]) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(sys.maxsize)) for name, each in commands if not each.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def make_group(about: str) -> typer.Typer:
    return typer.Typer(cls=Group, help=about, no_args_is_help=True)


def get_cell(column: Column, row: Any) -> Shown:
    """Return a field of a row as text, or what a function returns for the row."""
    if not isinstance(column, str):
        return column(row)
    value = attrgetter(column)(row)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return f"{value.astimezone():%Y-%m-%d %H:%M}"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[Any]", value)))
    return "-" if value is None else str(value)


def short_id(field: str) -> Column:
    """Return a column with the digits of an id that further commands need."""
    return lambda row: getattr(row, field)[:SHORT_ID]


def note_all(answer: Any) -> None:
    """Print the degradations and notes of a response."""
    console.note(*(each.effect for each in getattr(answer, "degraded", ())))
    console.note(getattr(answer, "note", None), *getattr(answer, "notes", ()))


def print_rows(rows: Sequence[Any], columns: Mapping[str, Column]) -> None:
    if rows:
        console.print_table([*columns], [[get_cell(each, row) for each in columns.values()] for row in rows])


@dataclass(frozen=True, slots=True)
class Table:
    """View with a row for each item of a field."""

    rows: str
    columns: Mapping[str, Column]
    noun: tuple[str, ...] = ()  # noun of a page's items, with its plural if irregular
    empty: str = ""
    hint: str = ""

    def __call__(self, answer: Any) -> None:
        note_all(answer)
        rows: Sequence[Any] = getattr(answer, self.rows)
        print_rows(rows, self.columns)
        if self.empty and not rows and not getattr(answer, "total", 0):
            console.say(self.empty)
        if self.noun and (rows or answer.total):
            end = getattr(answer, "offset", 0) + len(rows)
            more = f". Continue with --offset {end}" if rows and answer.total > end else ""
            console.say(f"{len(rows)} of {pluralize(answer.total, *self.noun)}{more}.")
        if rows and self.hint:
            console.say(self.hint)


def message(*templates: str) -> View:
    """Return a view that prints sentences. `{0.name}` is a field of the answer."""

    def show(answer: Any) -> None:
        note_all(answer)
        for each in templates:
            console.say(each.format(answer))

    return show


def emit(answer: BaseModel, show: View, *, as_json: bool) -> None:
    """Print an answer as JSON or with a view for people."""
    if as_json:
        console.print_json(answer.model_dump(mode="json"))
    else:
        show(answer)


def configure(
    read: Callable[[str], AnswerT],
    change: Callable[..., AnswerT],
    ontology: str,
    chosen: Mapping[str, Any],
    *,
    dry_run: bool,
    create: bool = False,
) -> AnswerT:
    if not create:
        found = read(ontology)  # a misspelt name must not create an ontology
        if not chosen:
            return found
    return change(ontology, dry_run=dry_run, **chosen)


def call_view(view: View | str, answer: Any, options: Mapping[str, Any]) -> None:
    if isinstance(view, str):
        module, _, name = view.partition(":")
        view = cast("View", getattr(import_module(module), name))
    names = {*inspect.signature(view).parameters} if inspect.isfunction(view) else set[str]()
    view(answer, **{name: value for name, value in options.items() if name in names})


def command(
    group: typer.Typer | None = None,
    name: str | None = None,
    *,
    show: View | str | None = None,
    asks: str = "",
    exit_code: Callable[[Any], int] = lambda _: 0,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Register a command that sends one request, and add --json.

    Args:
        group: Group of the command (default: none, `kg_cli.main` registers the command).
        name: Name of the command (default: the function's name).
        show: View, or `module:function` if its module is heavy. The view gets the answer, and those of the
            options and the client `kg` that it names as parameters.
        asks: Client method, whose arguments are the command's options. Without it, the function gets the
            client as `kg` and returns the answer.
        exit_code: Returns the exit code for an answer.
    """

    def register(function: Callable[..., Any]) -> Callable[..., None]:
        written = {
            name: each for name, each in function.__annotations__.items() if name not in {"kg", "return"}
        }
        hints = get_type_hints(SimpleNamespace(__annotations__=written), function.__globals__, None, True)
        own = [
            each.replace(annotation=hints[each.name])
            for each in inspect.signature(function).parameters.values()
            if each.name != "kg"
        ]

        @wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            with open_client() as kg:
                answer = getattr(kg, asks)(**options) if asks else function(kg=kg, **options)
                if as_json or show is None:
                    console.print_json(answer.model_dump(mode="json"))
                else:
                    call_view(show, answer, {**options, "kg": kg})
            if code := exit_code(answer):
                raise typer.Exit(code)

        json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        run.__signature__ = inspect.Signature([*own, json])  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {each.name: each.annotation for each in [*own, json]}
        if asks:
            ANSWERED[f"{function.__module__}.{function.__name__}"] = asks, show, [each.name for each in own]
        if group is not None:
            group.command(name)(run)
        return run

    return register
