import contextlib
import json
import math
import time
import tracemalloc
from typing import Any

import pytest
from fastapi import HTTPException
from hypothesis import given
from hypothesis import strategies as st

from kg_api.web.shared import limits
from kg_api.web.shared.limits import MAX_DEPTH, MAX_KEYS, MAX_VALUES, check_bounds, parse

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
        (json.dumps(dict.fromkeys(map(str, range(MAX_KEYS + 1)))).encode(), "more than 1,000 keys"),
        (b'{"a": 1, "a": 2}', "duplicate key"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "duplicate key"),
        *((content, "not JSON") for content in (b"{'a': 1}", b"", b"9" * 5000, b"{} {}")),
        (b"\xff", "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[" * 10**6, "nested too deeply"),
        (b'{"a":' * 10**5, "nested too deeply"),
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


SMALL_SCALARS = st.none() | st.integers() | st.text(st.sampled_from('[]{},:"\\\\n😀a'))
SMALL_VALUES = st.recursive(SMALL_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def depth_of(value: Any) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(value=SMALL_VALUES, ascii_only=st.booleans())
def test_depth_is_counted_outside_of_strings(value: Any, ascii_only: bool) -> None:
    depth, content = depth_of(value), json.dumps(value, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_DEPTH", depth)
        check_bounds(content)
        if depth:
            patch.setattr(limits, "MAX_DEPTH", depth - 1)
            with pytest.raises(HTTPException, match="nested too deeply"):
                check_bounds(content)


@pytest.mark.parametrize("unit", [b"[],", b"{},", b"1,", b'"",', b'{"a":1},'])
def test_many_tiny_values_are_rejected_before_parsing(unit: bytes) -> None:
    content = b"[" + unit * (63_000_000 // len(unit)) + b"0]"
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(HTTPException, match="more than 100,000 values"):
            parse(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - begun < 10  # 0.1 s; it was 52
    assert peak < 5_000_000


def test_json_within_the_limits_is_accepted() -> None:
    assert len(parse(b"[" + b"1," * (MAX_VALUES - 3) + b"1]")) == MAX_VALUES - 2
    assert parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(HTTPException, match="nested too deeply"):
        parse(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
