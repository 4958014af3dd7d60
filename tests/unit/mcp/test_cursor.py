from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import Conflict, InvalidInput
from kg_api.mcp.answers import Position, read_cursor, write_cursor
from kg_api.schemas.base import digest_cursors

CALL = digest_cursors("search_sources", "{}")
places = st.builds(Position, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))


@given(places, st.lists(st.text()))
def test_a_cursor_is_read_as_it_was_written(position: Position, keys: list[str]) -> None:
    cursor = read_cursor(write_cursor(CALL, position, keys), CALL)
    assert cursor.position == position
    cursor.check(keys)


@given(places, st.data())
def test_changed_cursor_is_rejected(position: Position, data: st.DataObject) -> None:
    cursor = write_cursor(CALL, position, ["a"])
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABCDwxyz0189-_ é=").filter(lambda each: each != cursor[at]))
    with pytest.raises(InvalidInput, match="cursor: "):
        read_cursor(cursor[:at] + other + cursor[at + 1 :], CALL)


@pytest.mark.parametrize("text", ["x", "eyJhIjoxfQ", "A" * 55, "é" * 10, "=", " "])
def test_invalid_cursor_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="invalid or changed"):
        read_cursor(text, CALL)


def test_cursor_of_another_call_is_rejected() -> None:
    cursor = write_cursor(CALL, Position(3), [])
    with pytest.raises(InvalidInput, match="belongs to another request"):
        read_cursor(cursor, digest_cursors("search_sources", '{"query":"other"}'))


def test_returned_items_must_be_unchanged() -> None:
    cursor = read_cursor(write_cursor(CALL, Position(2), ["a", "b"]), CALL)
    with pytest.raises(Conflict, match="have changed"):
        cursor.check(["a", "c"])


def test_digest_separates_its_inputs() -> None:
    assert digest_cursors("ab", "c") != digest_cursors("a", "bc")
