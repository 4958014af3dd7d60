from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kg_api.schemas.filters import (
    Clause,
    Condition,
    Where,
    format_metadata_field,
    list_alternatives,
    parse_condition,
)
from kg_api.schemas.metadata import parse_moment

WHERE: TypeAdapter[list[Clause]] = TypeAdapter(Where)


@pytest.mark.parametrize(
    ("line", "field", "op", "value"),
    [
        ("date>=2025-01-01", "date", ">=", "2025-01-01"),
        ("a!=b=c", "a", "!=", "b=c"),
        ("version<3", "version", "<", 3),
        ("version='3'", "version", "=", "3"),
        ("format in rst, text", "format", "in", ["rst", "text"]),
        ("title contains two words", "title", "contains", "two words"),
        ("title=2024", "title", "=", "2024"),
        ("document in 007,true", "document", "in", ["007", "true"]),
        ("document in 'a, b.md',c.md, it's", "document", "in", ["a, b.md", "c.md", "it's"]),
        ("document contains 07", "document", "contains", "07"),
        ("metadata.title=2024", "metadata.title", "=", 2024),
        ("code contains 007", "code", "contains", "007"),
        ("numbers contains 10", "numbers", "contains", 10),
        ("'two words'=x", "two words", "=", "x"),
        ("author exists", "author", "exists", True),
        ("author does not exist", "author", "exists", False),
        ("metadata.title=x", "metadata.title", "=", "x"),
    ],
)
def test_condition_line_is_parsed(line: str, field: str, op: str, value: object) -> None:
    (found,) = WHERE.validate_python([line])
    assert isinstance(found, Condition)
    assert (found.field, found.op, found.value) == (field, op, value)
    assert type(found.value) is type(value)
    assert found.key is None or format_metadata_field(found.key) == field


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("a=1 || b=2", [["a"], ["b"]]),
        ("a=1 && b=2 || c exists", [["a", "b"], ["c"]]),
        ("a='x || y' || b=2", [["a"], ["b"]]),
        ("a=x||y", [["a"]]),
        ("a=1 && b in 2, 3", [["a", "b"]]),
    ],
)
def test_alternatives_on_one_line(line: str, groups: list[list[str]]) -> None:
    (found,) = WHERE.validate_python([line])
    assert [[each.field for each in group] for group in list_alternatives(found)] == groups
    assert WHERE.validate_python([found.model_dump()]) == [found]


@pytest.mark.parametrize(
    "most",
    [
        ["a=1"] * 20,
        [f"a in {','.join('1' * 100)}"],
        [{"any_of": [["a=1"]] * 20}],
        [{"any_of": [["a=1"] * 20] * 5}],
    ],
)
def test_filter_may_reach_each_limit(most: list[object]) -> None:
    assert WHERE.validate_python(most)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("a=1 || ", "is not a condition"),
        ("&& a=1", "is not a condition"),
        ({"any_of": []}, "at least 1"),
        ({"any_of": [[]]}, "at least 1"),
        ({"any_of": [["a=1"]], "all_of": []}, "all_of"),
        ({"any_of": [["a=1 || b=2"]]}, "several conditions"),
        ({"any_of": [["a=1"] * 20] * 6}, "more than 100 conditions"),
        *((line, "is not a condition") for line in ("", "author", "=x", "author=", "author ~ x")),
        *((line, "is not a condition") for line in ("author in ", "two words=x")),
        ({"field": "a", "op": "<", "value": [1, 2]}, "value"),
        ({"field": "a", "op": "exists", "value": "yes"}, "exists"),
        *(({"field": "a", "value": value}, "value") for value in (2**63, "x" * 1001)),
        ({"field": "", "value": 1}, "field"),
        ({"field": "a", "op": "in", "value": []}, "value"),
    ],
)
def test_conditions_that_cannot_be(given: object, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        WHERE.validate_python([given])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("page=two", r"'two' is not a page. Write page=2"),
        ("page>=2.5", r"2.5 is not a page"),
        ("page in 1, x", r"'x' is not a page"),
        ("page=true", r"metadata\.page"),
        ("kind=note", r"'note' is not a kind of source. .* or metadata\.kind"),
        ("kind>image", r"kinds have no order"),
        ("kind in image, note", r"'note' is not a kind"),
    ],
)
def test_conditions_on_sources_are_checked(line: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        WHERE.validate_python([line])
    WHERE.validate_python([line.replace("page", "metadata.page").replace("kind", "metadata.kind")])


@given(st.text(max_size=60))
def test_any_line_is_parsed_or_rejected(line: str) -> None:
    with suppress(ValueError):
        assert set(parse_condition(line)) == {"field", "op", "value"}


@pytest.mark.parametrize(
    ("text", "start", "until"),
    [
        ("2025-02", datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
        (
            "2025-01-31T23:30:00-05:00",
            datetime(2025, 2, 1, 4, 30, tzinfo=UTC),
            datetime(2025, 2, 1, 4, 30, 0, 1, tzinfo=UTC),
        ),
    ],
)
def test_a_date_is_a_span_of_time(text: str, start: datetime, until: datetime) -> None:
    assert parse_moment(text) == (start, until)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("date<gestern", "'gestern' is not a date. Write date<2025"),
        ("updated_at>=01/2024", "is not a date. Write updated_at>=2025"),
        ("date=2024-02-30", "'2024-02-30' is not a calendar day or month"),
        ("reviewed<2024-13", "'2024-13' is not a calendar day or month"),
    ],
)
def test_invalid_date_in_a_condition_is_rejected(line: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Condition.model_validate(parse_condition(line))
