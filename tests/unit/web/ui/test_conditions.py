"""What a facet shows can be asked for, or has no link."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.filters import Condition, FacetCounts, FacetValue, field_of, parse_conditions
from kg_api.web.ui.rendering import begun_conditions, condition_of

VALUES = st.one_of(st.text(max_size=20), st.integers(-(2**40), 2**40), st.booleans(), st.floats(-1e6, 1e6))


def written(field: str, value: Any) -> str | None:
    facet = FacetCounts(field=field, by=None, values=[], left_out=0, having=0, missing=0)
    return condition_of(facet, FacetValue(value=value, documents=1))


@given(st.text(min_size=1, max_size=12), VALUES)
def test_a_condition_finds_what_it_was_written_for(field: str, value: Any) -> None:
    told = written(field, value)
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
def test_values_are_quoted_where_they_must_be(field: str, value: Any, told: str) -> None:
    assert written(field, value) == told
    assert Condition.model_validate(parse_conditions(told)).values == [value]


def test_keys_that_are_called_like_fields_are_told_apart() -> None:
    assert [field_of(each) for each in ("author", "title", "metadata.x")] == [
        "author",
        "metadata.title",
        "metadata.metadata.x",
    ]


def test_what_is_offered_for_a_field_is_how_a_condition_on_it_begins() -> None:
    assert begun_conditions(["author", "date", "reading level"]) == [
        *("author=", "date=", "date>=", "date<=", "'reading level'=")
    ]
