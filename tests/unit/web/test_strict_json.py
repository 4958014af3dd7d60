from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from fastapi import HTTPException
from hypothesis import given
from hypothesis import strategies as st

from kg_api.web.shared.limits import parse

SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def refusal(content: bytes) -> HTTPException:
    with pytest.raises(HTTPException) as raised:
        parse(content)
    return raised.value


@given(VALUES.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_valid_json_round_trips(value: Any) -> None:
    assert parse(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_body_is_parsed_or_rejected(content: bytes) -> None:
    with contextlib.suppress(HTTPException):
        parse(content)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"NaN", "NaN is not a JSON value"),
        (b"[1, Infinity]", "Infinity"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1, "a": 2}', "duplicate key"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "duplicate key"),
        (b"{'a': 1}", "not JSON"),
        (b"", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[" * 10**6, "nested too deeply"),
        (b'{"a":' * 10**5, "nested too deeply"),
        (b"9" * 5000, "not JSON"),
        (b"{} {}", "not JSON"),
    ],
)
def test_nonstandard_json_is_rejected(content: bytes, told: str) -> None:
    error = refusal(content)
    assert error.status_code == 400
    assert told in error.detail


def test_unusual_valid_json_is_left_to_models() -> None:
    assert math.isinf(parse(b"1e400"))
    assert parse(rb'"\ud800"') == "\ud800"
    assert parse(b"9" * 4000) == int("9" * 4000)
