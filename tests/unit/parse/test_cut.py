from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.text.cutting import (
    LINES,
    Borders,
    blank_line_borders,
    character_borders,
    cut,
    line_borders,
    prose_levels,
    word_borders,
    words,
)
from tests.unit.parse.shapes import many


def pieces(
    text: str, levels: tuple[Borders, ...] | None = None, above: int = 60, most: int = 50
) -> list[str]:
    size = words(text)
    spans = cut(
        text, (0, len(text)), size, levels or prose_levels(text, 0, len(text), size), above=above, most=most
    )
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(text)
    return [text[start:end] for start, end in spans]


@given(text=st.text(max_size=2000), levels=st.sampled_from([LINES, None]), above=st.integers(50, 80))
def test_pieces_tile_and_keep_the_limit(text: str, levels: tuple[Borders, ...] | None, above: int) -> None:
    for piece in pieces(text, levels, above):
        assert words(piece) <= above


def test_what_is_short_enough_stays_whole() -> None:
    assert pieces(many(60)) == [many(60)]


def test_prose_is_cut_between_sentences_into_equal_parts() -> None:
    sentence = "This one has got six words. "
    assert pieces(sentence * 14) == [sentence * 7] * 2


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    found = pieces(f"Short one. {many(100)}. Short end.")
    assert found[0] == "Short one. "
    assert all(piece.endswith(("word ", ". ", "end.")) for piece in found)


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    assert {len(piece) for piece in pieces("x" * 2000)} == {500}


def test_where_each_line_is_a_paragraph_lines_stay_together() -> None:
    first, second = "Here are five small words. " * 6 + "\n", "Here are five small words. " * 9 + "\n"
    assert pieces(first + second + second) == [first, second, second]


def test_code_is_cut_at_blank_lines_first() -> None:
    function = "def f():\n    pass\n    pass\n"
    assert pieces(f"{function}\n\n" * 20, LINES) == [f"{function}\n\n" * 10] * 2


def test_a_table_is_cut_between_its_rows() -> None:
    row = "| a | b | c | d |\n"
    assert all(piece.endswith("|\n") for piece in pieces(row * 50, LINES))


@pytest.mark.parametrize(
    ("borders", "expected"),
    [
        (blank_line_borders, ["a b\n\n \n", "c\r\n\r\n", "d\n\n"]),
        (line_borders, ["a b\n", "\n", " \n", "c\r\n", "\r\n", "d\n", "\n"]),
        (word_borders, ["a ", "b\n\n \n", "c\r\n\r\n", "d\n\n"]),
    ],
)
def test_borders(borders: Borders, expected: list[str]) -> None:
    text = f"before{''.join(expected)}behind"
    start, end = len("before"), len(text) - len("behind")
    places = [start, *borders(text, start, end), end]
    assert [text[a:b] for a, b in pairwise(places)] == expected


FAMILY = "\U0001f469\u200d\U0001f469\U0001f3fd\u200d\U0001f467\ufe0f"


@given(st.lists(st.sampled_from(["a", "e\u0301\u0323", "नि", FAMILY]), min_size=100, max_size=300))
def test_characters_are_not_torn_from_their_marks(parts: list[str]) -> None:
    text = "".join(parts)
    borders = set(character_borders(text, 0, len(text)))
    assert borders
    ends = {0}
    for part in parts:
        ends.add(max(ends) + len(part))
    assert borders <= ends


def test_marks_without_end_are_cut_in_bounded_steps() -> None:
    text = "e" + "\u0301" * 5000 + "x" * 60
    borders = list(character_borders(text, 0, len(text)))
    assert borders
    assert not unicodedata.combining(text[borders[-1]])
