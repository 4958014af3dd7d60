from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.jobs import compute_speed
from kg_api.schemas.filters import Condition, parse_conditions
from kg_api.web.ui.rendering import Question, as_text, duration, pace, read_choice, time_left, write_condition
from kg_api.web.ui.routes.library import read_edited_metadata
from kg_api.web.ui.routes.queries import FACET_VALUES, count_values

VALUES = st.one_of(st.text(max_size=20), st.integers(-(2**40), 2**40), st.booleans(), st.floats(-1e6, 1e6))


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
    found = question = Question("a", where=("date>=2024", "format=pdf"))
    steps = (("html", ["format in pdf,html"]), ("pdf", ["format=html"]), ("html", []))
    for value, where in steps:
        found = found.toggle("format", value)
        assert found is not None
        assert found.where == ("date>=2024", *where)
    assert question.toggle("tags", "a,b") is not None
    tagged = Question("a", where=("tags=x",))
    with_comma = tagged.toggle("tags", "a,b")
    assert with_comma is not None
    assert with_comma.where == ("tags in x,'a,b'",)
    assert with_comma.toggle("tags", "a,b") == tagged
    assert tagged.toggle("tags", """'"a,b""") is None, "a comma separates values"


PARTS: dict[str, Any] = {"text": "b", "ontology": "o", "way": "text", "kind": "image", "where": ("a=1",)}


@pytest.mark.parametrize("part", PARTS)
def test_each_question_part_is_sent_and_shown(part: str) -> None:
    usual = Question("a")
    changed = replace(usual, **{part: PARTS[part]})
    assert changed.as_search() != usual.as_search()
    assert changed.parameters() != usual.parameters()
    assert changed.command() != usual.command()
    assert {*PARTS} | {"judging"} == {each.name for each in fields(Question)}


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


def test_every_value_of_a_facet_can_be_chosen() -> None:
    names = ["Ada", *(f"author {n}" for n in range(FACET_VALUES + 2)), "Ada"]
    hits = [SimpleNamespace(document_id=str(n), metadata={"author": each}) for n, each in enumerate(names)]
    facet = count_values(cast("Any", hits), "author", Question(text="dance"))
    assert facet is not None
    assert (facet.values[0].value, facet.values[0].documents) == ("Ada", 2)
    assert (len(facet.values), len(facet.folded)) == (FACET_VALUES, 3)
    assert {each.value for each in (*facet.values, *facet.folded)} == set(names)
    assert all(each.question for each in facet.folded)


@pytest.mark.parametrize(("field", "narrows"), [("date", True), ("modified", False)])
def test_single_year_of_modification_is_hidden(field: str, narrows: bool) -> None:
    years = [{field: "2026-01-01"}, {field: "2026-02-01"}, {}]
    hits = [SimpleNamespace(document_id=str(n), metadata=each) for n, each in enumerate(years)]
    assert (count_values(cast("Any", hits), field, Question(text="dance")) is not None) == narrows


IN_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@pytest.mark.parametrize("seconds", [0.4, 7.0, 25.0, 90.0, 4000.0, 200_000.0])
@pytest.mark.parametrize(("moved", "left"), [(1, 3), (20, 5), (3, 100), (5000, 12_000)])
def test_remaining_time_follows_the_rate(moved: int, left: int, seconds: float) -> None:
    rate, rest = compute_speed(moved, seconds, left)
    assert rate > 0
    assert rate * rest == pytest.approx(left, rel=0.01, abs=rate * 0.06)
    number, _, unit = pace(rate).replace(",", "").partition(" ")
    told_rate = float(number) / IN_SECONDS[unit.split()[-1]]
    size, unit = time_left(rest).removeprefix("about ").split()
    told_rest = int(size) * IN_SECONDS[unit.removesuffix("s")]
    assert told_rest >= rest * 0.99
    assert told_rest <= max(rest * 1.5 + 1, 1)
    assert told_rate == pytest.approx(rate, rel=0.06)


@pytest.mark.parametrize(
    ("seconds", "told"), [(90, "90 seconds"), (300, "5 minutes"), (3600, "1 hour"), (172_800, "2 days")]
)
def test_duration_has_the_largest_unit_that_fits(seconds: int, told: str) -> None:
    assert duration(seconds) == told


def test_list_of_metadata_is_separated_by_commas() -> None:
    assert as_text(["Ada", None, 7]) == "Ada, 7"


def test_condition_that_cannot_be_written_or_read_is_none() -> None:
    assert write_condition('it\'s "x"', ["a"]) is None
    assert read_choice("a=") is None
