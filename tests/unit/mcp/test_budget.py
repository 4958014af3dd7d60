from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.mcp.answers import (
    MIN_ROOM,
    Item,
    Position,
    cut,
    fill,
    find_invisible_characters,
    passage,
    read_citation,
    read_cursor,
)
from kg_api.schemas.base import digest_cursors

texts = st.text(alphabet='ab \n"\\é中😀', max_size=400)
rooms = st.integers(MIN_ROOM, 300)


def passages(given: list[str]) -> list[Item]:
    """Return passages from one document. Each of them is a source."""
    places, start = [], 0
    for at, text in enumerate(given):
        places.append(passage(f"s{at}#{start}-{start + len(text)}", text))
        start += len(text)
    return places


def walked(items: list[Item], room: int) -> list[list[Item]]:
    steps, position = list[list[Item]](), Position()
    while position.index < len(items):
        step, after = fill(items, position, room)
        assert (after.index, after.offset) > (position.index, position.offset), "a walk gets on"
        steps.append(step)
        position = after
    return steps


@given(st.lists(texts.filter(bool), max_size=12), rooms)
def test_pages_return_everything_once_in_order(given: list[str], room: int) -> None:
    parts = [part for step in walked(passages(given), room) for part in step]
    assert "".join(part["text"] for part in parts) == "".join(given)
    whole = "".join(given)
    for part in parts:
        cited = read_citation(part["citation"])[1]
        assert cited is not None
        assert whole[cited.start : cited.end] == part["text"]


CALL = digest_cursors("search_sources", "{}")
places = st.builds(Position, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))


@pytest.mark.parametrize("text", ["x", "eyJhIjoxfQ", "A" * 55, "é" * 10, "=", " "])
def test_invalid_cursor_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="invalid or changed"):
        read_cursor(text, CALL)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain\ttext\r\n", []),
        ("Übung, 日本語, 😀", []),
        ("❤️", []),
        ("to\u200bken", ["zero_width"]),
        ("soft\u00adhyphen \ufeff", ["zero_width"]),
        ("👩\u200d🚀 and می\u200cخواهم", ["joiner"]),
        ("\u202egpj.exe\u202c", ["bidirectional"]),
        ("".join(chr(0xE0000 + ord(each)) for each in "do evil"), ["tag"]),
        ("\x1b[31m", ["control"]),
        ("\u2066\u200b", ["zero_width", "bidirectional"]),
    ],
)
def test_invisible_characters_are_named(text: str, kinds: list[str]) -> None:
    assert find_invisible_characters(text) == kinds


def test_passage_and_its_parts_are_marked_unchanged() -> None:
    found = passage("s#10-20", "abc\u200bdefghi")
    assert (found["text"], found["invisible"]) == ("abc\u200bdefghi", ["zero_width"])
    assert cut(found, 0, 4)["invisible"] == ["zero_width"]
    assert "invisible" not in cut(found, 4, 10)
