"""Commands that send one request, and their output: JSON, or a view for people.

A template is a text with fields of the answer or of a row, `"{source.document} ¶{source.paragraph}"`. It can
also be a text with a style, `("{label}", "bold")`, a list of both, or a function. A text that begins with `?`
is shown only if one of its fields has a value. `{sources:~source}` counts: "2 sources".
"""

from __future__ import annotations

import inspect
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperGroup

from kg_api.wording import pluralize
from kg_cli.terminal import console
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.console import Part, Shown
from kg_cli.terminal.options import JsonOption

if TYPE_CHECKING:
    from pydantic import BaseModel

Template: TypeAlias = "str | tuple[str, str] | Sequence[Part] | Callable[[Any], Shown]"
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


class _Fields(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        del kwargs
        return getattr(args[0], str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("~"):
            count = len(value) if hasattr(value, "__len__") else cast("int", value)
            return pluralize(count, *format_spec[1:].split("/"))
        match value:
            case None:
                return "-"
            case bool():
                return "yes" if value else "no"
            case datetime():
                return value.astimezone().strftime(format_spec or "%Y-%m-%d %H:%M")
            case list():
                return ", ".join(map(str, cast("list[Any]", value)))
            case _:
                return format(value, format_spec)


_FIELDS = _Fields()


def fill(template: str, model: Any) -> str:
    """Return the filled template, or an empty text if an optional template has no values."""
    if template.startswith("?"):
        template = template[1:]
        names = [name for _, name, _, _ in _FIELDS.parse(template) if name]
        if not any(_FIELDS.get_field(name, (model,), {})[0] for name in names):
            return ""
    return _FIELDS.vformat(template, (model,), {})


def shown(template: Template, model: Any) -> Shown:
    if callable(template):
        return template(model)
    if isinstance(template, str):
        return fill(template, model)
    parts = [template] if isinstance(template, tuple) and isinstance(template[0], str) else template
    return [
        fill(each, model) if isinstance(each, str) else (fill(each[0], model), each[1])
        for each in cast("Sequence[Part]", parts)
    ]


def note_all(answer: Any) -> None:
    """Print the degradations and notes of a response."""
    console.note(*(each.effect for each in getattr(answer, "degraded", ())))
    console.note(getattr(answer, "note", None), *getattr(answer, "notes", ()))


def print_rows(rows: Sequence[Any], columns: Mapping[str, Template], *, numbered: bool = False) -> None:
    cells = [[shown(each, row) for each in columns.values()] for row in rows]
    if numbered:
        cells = [[str(number), *row] for number, row in enumerate(cells, start=1)]
    if cells:
        console.print_table([*(["#"] if numbered else []), *columns], cells)


@dataclass(frozen=True, slots=True)
class Table:
    """View with a row for each item of a field."""

    rows: str
    columns: Mapping[str, Template]
    noun: str = ""  # noun of a page's items: `document`, or `community/communities`
    empty: str = ""
    hint: str = ""
    numbered: bool = False

    def __call__(self, answer: Any) -> None:
        note_all(answer)
        rows: Sequence[Any] = getattr(answer, self.rows)
        print_rows(rows, self.columns, numbered=self.numbered)
        if self.empty and not rows and not getattr(answer, "total", 0):
            console.say(fill(self.empty, answer))
        if self.noun and (rows or answer.total):
            end = getattr(answer, "offset", 0) + len(rows)
            more = f"; continue with --offset {end}" if rows and answer.total > end else ""
            console.say(f"{len(rows)} of {pluralize(answer.total, *self.noun.split('/'))}{more}.")
        if rows and self.hint:
            console.say(fill(self.hint, answer))


@dataclass(frozen=True, slots=True)
class Messages:
    """View of sentences on standard error. Empty sentences are omitted."""

    templates: Sequence[str]

    def __call__(self, answer: Any) -> None:
        note_all(answer)
        for each in self.templates:
            if told := fill(each, answer):
                console.say(told)


def messages(*templates: str) -> Messages:
    return Messages(templates)


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
    """Change the given options of a configuration. Without options, read it."""
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

        json = inspect.Parameter(
            "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption
        )
        run.__signature__ = inspect.Signature([*own, json])  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {each.name: each.annotation for each in [*own, json]}
        if asks:
            ANSWERED[f"{function.__module__}.{function.__name__}"] = asks, show, [each.name for each in own]
        if group is not None:
            group.command(name)(run)
        return run

    return register
