from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.text.lines import is_blank, line_starts


@given(st.text(st.sampled_from("ab \n\r\u2028\x0b")))
def test_lines_join_to_the_text(text: str) -> None:
    starts = line_starts(text)
    lines = [text[a:b] for a, b in pairwise(starts)]
    assert "".join(lines) == text
    assert all(line.endswith(("\n", "\r")) for line in lines[:-1])
    assert [line.rstrip("\r\n") for line in lines] == text.replace("\r\n", "\n").replace("\r", "\n").split(
        "\n"
    )[: len(lines)]


@pytest.mark.parametrize(
    "text", ["", " \t\n\u3000", "\u200b\u200d\ufeff", "\u202e\u2066\u00ad", "\u3164\u2800"]
)
def test_nothing_to_see_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", "漢", "👍", "\u0301", "\u200bx", "٣"])
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_only_the_part_asked_for_counts() -> None:
    assert is_blank("a  b", 1, 3)
    assert not is_blank("a  b", 1, 4)
