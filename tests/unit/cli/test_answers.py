"""Commands without a body: their options and views fit the client and the models."""

from __future__ import annotations

import inspect
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import kg_cli.main
from kg_api.client import KgClient
from kg_cli.terminal.answers import ANSWERED, Messages, Table, call_view, fill, shown

ASKING = {"kg_cli.jobs.commands.show_job", "kg_cli.admin.concepts.status"}
"""Views that call the service themselves."""


def answer_of(method: str) -> type[BaseModel]:
    """Return the model that a method of the client returns."""
    (answer,) = get_args(get_type_hints(inspect.unwrap(getattr(KgClient, method)))["return"])
    return answer


def texts_of(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, tuple):
        yield template[0]
    elif not callable(template):
        for each in template:
            yield from texts_of(each)


def missing_fields(template: Any, model: type[BaseModel]) -> list[str]:
    names = [
        name
        for text in texts_of(template)
        for _, name, _, _ in string.Formatter().parse(text.removeprefix("?"))
        if name
    ]
    return [name for name in names if name.split(".")[0].split("[")[0] not in model.model_fields]


def test_commands_are_registered() -> None:
    assert kg_cli.main.app
    assert len(ANSWERED) > 40


@pytest.mark.parametrize("command", ANSWERED)
def test_options_are_arguments_of_the_method(command: str) -> None:
    method, _, options = ANSWERED[command]
    assert {*options} <= {*inspect.signature(inspect.unwrap(getattr(KgClient, method))).parameters}


@pytest.mark.parametrize("command", ANSWERED)
def test_templates_name_fields_of_the_answer(command: str) -> None:
    method, view, _ = ANSWERED[command]
    model = answer_of(method)
    if isinstance(view, Messages):
        assert missing_fields(list(view.templates), model) == []
    elif isinstance(view, Table):
        assert missing_fields([view.empty, view.hint], model) == []
        rows = model.model_fields[view.rows].annotation
        assert get_origin(rows) is list
        assert missing_fields(list(view.columns.values()), get_args(rows)[0]) == []
        if view.noun:
            assert "total" in model.model_fields


class Row(BaseModel):
    name: str = "a"
    count: int = 2
    score: float | None = None
    tags: list[str] = ["x", "y"]
    flag: bool = True


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{name}: {count:~thing}", "a: 2 things"),
        ("{score:.2f}", "-"),
        ("{tags} {flag}", "x, y yes"),
        ("{tags:~entry/entries}", "2 entries"),
        ("?, {score:.2f}", ""),
        ("?, {name}", ", a"),
    ],
)
def test_fields_fill_a_template(template: str, expected: str) -> None:
    assert fill(template, Row()) == expected


def test_parts_of_a_template_keep_their_styles() -> None:
    assert shown([("{name}", "bold"), " {count}"], Row()) == [("a", "bold"), " 2"]
    assert shown(("{name}", "dim"), Row()) == [("a", "dim")]
    assert shown(lambda row: row.name, Row()) == "a"


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
