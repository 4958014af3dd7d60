"""Lists of objects in what a model writes, whole or piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.providers.chat import MAX_CHARACTERS, ObjectReader, line, objects

TWO: list[dict[str, Any]] = [{"a": "one ] }"}, {"a": 'two "[{', "b": [{"c": 1}]}]


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({"statements": TWO}),
        json.dumps(TWO, indent=2),
        f"Here it is [as asked]:\n```json\n{json.dumps({'x': TWO})}\n``` and [{{}}] more",
        f'<think>[{{"a": "no"}}]</think>{json.dumps(TWO)}',
        json.dumps(TWO)[:-1] + ', {"a": "broken o',
    ],
)
def test_the_objects_of_the_first_list_are_found(answer: str) -> None:
    assert list(objects([answer])) == TWO


@pytest.mark.parametrize(
    "answer", ["", "no", "[]", "[1, 2]", '{"a": 1}', "<think>[{}]", "[{" * 50_000, "[{]"]
)
def test_where_there_is_no_list_there_is_nothing(answer: str) -> None:
    assert list(objects([answer])) == []


@pytest.mark.parametrize(
    ("answer", "found", "complete"),
    [
        (json.dumps({"statements": TWO}), True, True),
        (json.dumps(TWO), True, True),
        (json.dumps(TWO)[:-1], True, False),
        (json.dumps(TWO)[:-9], True, False),
        ('[{"a": 1}, {oops}, {"a": 2}]', True, False),
        ("I do not know.", False, False),
        ("", False, False),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_is_known_whether_an_answer_was_whole(answer: str, found: bool, complete: bool, size: int) -> None:
    reader = ObjectReader()
    list(reader.objects(answer[at : at + size] for at in range(0, len(answer), size)))
    assert (reader.found, reader.complete, reader.is_blank) == (found, complete, answer == "")


@pytest.mark.parametrize(
    ("answer", "none"),
    [
        ("[]", True),
        ("```json\n[ ]\n```", True),
        ('{"statements": []}', True),
        ('<think>[{"a": 1}]</think> Well: {"statements": [], "why": "nothing there"}', True),
        ('{"statements": null}', False),
        ('{"other": []}', False),
        ("There is [] nothing", False),
        ('{"statements": [', False),
        ("{" * 50_000, False),
        ("", False),
    ],
)
def test_only_an_empty_list_says_that_there_is_nothing(answer: str, none: bool) -> None:
    reader = ObjectReader()
    list(reader.objects([answer]))
    assert reader.says_none("statements") == none


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), JSON), max_size=5), st.data())
def test_however_it_is_cut_into_pieces_it_is_the_same(
    items: list[dict[str, Any]], data: st.DataObject
) -> None:
    answer = json.dumps({"items": items}, indent=data.draw(st.sampled_from([None, 1])))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)))))
    pieces = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert list(objects(pieces)) == items


def test_an_object_is_given_before_the_next_piece_is_asked_for() -> None:
    asked: list[int] = []

    def pieces() -> Any:
        for number, piece in enumerate(('[{"a": 1}', ', {"a": 2}', "]")):
            asked.append(number)
            yield piece

    found = objects(pieces())
    assert next(found) == {"a": 1}
    assert asked == [0]


def test_an_endless_answer_is_left() -> None:
    def endless() -> Any:
        while True:
            yield '[{"a": 1}, ' + "x" * 1000

    assert len(list(objects(endless()))) == 1
    assert MAX_CHARACTERS < 10**6


def test_a_line_is_clean_and_short() -> None:
    assert line(" a\x1b[2J\u202e b\nc ", 100) == "a [2J b c"
    assert line("word " * 10, 9) == "word word"
    assert line({"no": "text"}, 9) == ""
