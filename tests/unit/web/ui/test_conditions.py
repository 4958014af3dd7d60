from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.filters import Condition, parse_conditions
from kg_api.web.ui.rendering import Question, read_choice, write_condition
from kg_api.web.ui.routes.library import read_edited_metadata

VALUES = st.one_of(st.text(max_size=20), st.integers(-(2**40), 2**40), st.booleans(), st.floats(-1e6, 1e6))


@given(st.text(min_size=1, max_size=12), VALUES)
def test_written_condition_parses_to_its_value(field: str, value: Any) -> None:
    told = write_condition(field, [value])
    if told is not None:
        assert parse_conditions(told) == {"field": field, "op": "=", "value": value}


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("author", "Ada", "author=Ada"),
        ("draft", True, "draft=true"),
        ("draft", "true", "draft='true'"),
        ("ontology", "2024", "ontology='2024'"),
        ("pages", 12, "pages=12"),
        ("reading level", "R && D", "'reading level'='R && D'"),
        ("author", "O'Hara", 'author="O\'Hara"'),
        ("tags", " a ", "tags=' a '"),
    ],
)
def test_values_are_quoted_if_needed(field: str, value: Any, told: str) -> None:
    assert write_condition(field, [value]) == told
    assert Condition.model_validate(parse_conditions(told)).values == [value]


@given(st.text(min_size=1, max_size=12), st.lists(VALUES, min_size=2, max_size=4))
def test_condition_on_several_values_is_read_back(field: str, values: list[Any]) -> None:
    told = write_condition(field, values)
    if told is not None:
        assert read_choice(told) == (field, values)


def test_field_values_are_toggled_individually() -> None:
    question = Question("a", where=("date>=2024", "format=pdf"))
    both = question.toggling("format", "html")
    assert both is not None
    assert both.where == ("date>=2024", "format in pdf,html")
    one = both.toggling("format", "pdf")
    assert one is not None
    assert one.where == ("date>=2024", "format=html")
    none = one.toggling("format", "html")
    assert none is not None
    assert none.where == ("date>=2024",)
    assert question.toggling("tags", "a,b") is not None
    assert Question("a", where=("tags=x",)).toggling("tags", "a,b") is None, "a comma separates values"


BEFORE: dict[str, Any] = {"tags": ["a", "b"], "author": "Ada", "year": 2024, "draft": True, "empty": None}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"tags": "a\r\nb\r\n", "author": "Ada", "year": "2024", "draft": "true", "empty": ""}, {}),
        ({"tags": "a\r\n c "}, {"tags": ["a", "c"]}),
        ({"tags": "2024\nb"}, {"tags": ["2024", "b"]}),
        ({"tags": " "}, {"tags": None}),
        ({"author": ""}, {"author": None}),
        ({"year": "2025", "draft": "false"}, {"year": 2025, "draft": False}),
        ({"author": "'2025'"}, {"author": "2025"}),
        ({" editor ": "Bob", "": "lost"}, {"editor": "Bob"}),
        ({"author": "Ada\nBob"}, {"author": ["Ada", "Bob"]}),
    ],
)
def test_only_edited_values_are_changed(given: dict[str, str], changed: dict[str, Any]) -> None:
    assert read_edited_metadata(BEFORE, [*given], [*given.values()]) == changed
