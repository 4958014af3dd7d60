from __future__ import annotations

import inspect
from datetime import UTC, datetime
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import kg_cli.main
from kg_api.client import KgClient
from kg_cli.terminal.answers import ANSWERED, Column, call_view, cell

ASKING = {"kg_cli.jobs.commands.show_job", "kg_cli.admin.concepts.status"}
"""Views that call the service themselves."""


def answer_of(method: str) -> type[BaseModel]:
    """Return the model that a method of the client returns."""
    (answer,) = get_args(get_type_hints(inspect.unwrap(getattr(KgClient, method)))["return"])
    return answer


def test_commands_are_registered() -> None:
    assert kg_cli.main.app
    assert len(ANSWERED) > 40


@pytest.mark.parametrize("command", ANSWERED)
def test_options_are_arguments_of_the_method(command: str) -> None:
    method, _, options = ANSWERED[command]
    assert {*options} <= {*inspect.signature(inspect.unwrap(getattr(KgClient, method))).parameters}


class Row(BaseModel):
    name: str = "a"
    count: int = 2
    score: float = 0.512
    nothing: str | None = None
    tags: list[str] = ["x", "y"]
    flag: bool = True


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("name", "a"),
        ("count", "2"),
        ("score", "0.51"),
        ("nothing", "-"),
        ("tags", "x, y"),
        ("flag", "yes"),
        (lambda row: f"{row.name}{row.count}", "a2"),
    ],
)
def test_a_column_is_a_field_or_a_function(column: Column, expected: str) -> None:
    assert cell(column, Row()) == expected


def example(annotation: Any) -> Any:  # noqa: PLR0911 - a case each
    """Return a value of a type, with something in each optional field and list."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return example(arguments[0])
    if origin is Literal:
        return arguments[0]
    if origin in {Union, UnionType}:
        return example(next(each for each in arguments if each is not type(None)))
    if origin is list:
        return [example(arguments[0])] * 2
    if origin is dict:
        return {"total": example(arguments[1])}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = annotation.model_fields.items()
        return annotation.model_construct(**{name: example(field.annotation) for name, field in fields})
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    plain = {str: "text", int: 2, float: 0.5, bool: True, datetime: datetime(2026, 1, 31, tzinfo=UTC)}
    return plain.get(annotation)


@pytest.mark.parametrize("command", ANSWERED)
def test_views_show_an_answer(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    method, view, options = ANSWERED[command]
    asked = {"kg": None, **dict.fromkeys(options, 1)}
    answer = example(answer_of(method))
    assert view is not None
    if command in ASKING:
        return
    call_view(view, answer, asked)
    told = capsys.readouterr()
    assert (told.out + told.err).strip()
