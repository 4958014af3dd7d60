from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.text.cutting import words


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        (" \n", 0),
        ("three small words", 3),
        ("x" * 100, 10),
        ("漢字" * 10, 10),
        ("ภาษาไทย" * 6, 7),
        ("Straße über Öl", 3),
        ("这是 English 和 中文", 4),
    ],
)
def test_words(text: str, size: int) -> None:
    assert words(text) == size


def test_a_part_of_a_text() -> None:
    assert words("one two three", 4, 13) == 2


def test_a_long_text_is_counted_in_parts() -> None:
    assert abs(words("word " * 100_000) - 100_000) <= 10


@given(st.lists(st.text(max_size=40), max_size=20))
def test_joining_adds_nothing(parts: list[str]) -> None:
    assert words("".join(parts)) <= sum(map(words, parts))


@given(st.text(), st.integers(0, 50))
def test_what_can_be_seen_counts(text: str, at: int) -> None:
    assert (words(text, at) == 0) == (not text[at:].strip())
