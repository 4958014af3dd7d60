"""Cutting texts into queries: bounded, on paragraph borders, overlapping, and nothing lost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS
from kg_api.search.augment import cut

PARAGRAPHS = [" ".join(f"w{n}x{i}" for i in range(90)) + "." for n in range(12)]
TEXT = "\n\n".join(PARAGRAPHS)


def words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def said(text: str, most: int, overlap: int) -> list[str]:
    return [text[start:end] for start, end in cut(text, words, most, overlap)]


def test_pieces_are_whole_paragraphs_and_as_many_as_fit() -> None:
    assert said(TEXT, 200, 0) == ["\n\n".join(PARAGRAPHS[at : at + 2]) for at in range(0, 12, 2)]


def test_the_last_paragraph_of_a_piece_begins_the_next_one_where_it_fits() -> None:
    pieces = said(TEXT, 300, 100)
    assert pieces[0] == "\n\n".join(PARAGRAPHS[:3])
    assert pieces[1] == "\n\n".join(PARAGRAPHS[2:5])


def test_of_a_longer_paragraph_its_last_sentences_begin_the_next_piece() -> None:
    sentences = [f"Sentence {n} says {'this and that ' * 5}at last." for n in range(10)]
    text = "\n\n".join([" ".join(sentences), *PARAGRAPHS])
    second = said(text, 240, 45)[1]
    assert second == f"{' '.join(sentences[8:])}\n\n{PARAGRAPHS[0]}\n\n{PARAGRAPHS[1]}"


def test_a_text_that_fits_is_one_piece() -> None:
    assert said(f"\n {TEXT}\n\n", 5000, 150) == [TEXT]


def test_no_piece_is_longer_than_a_query_may_be_whatever_a_token_is() -> None:
    blob = "x" * 100_000
    pieces = said(f"{TEXT}\n\n{blob}\n\n{' ' * 50_000}end", 1800, 150)
    assert all(len(piece) <= MAX_QUERY_CHARACTERS for piece in pieces)
    assert sum(piece.count("x") for piece in pieces) >= 100_000


TEXTS = st.lists(
    st.sampled_from(
        [
            "word ",
            "Sentence end. ",
            "\n\n",
            "\n",
            "# heading\n",
            "- item\n",
            "```\n",
            " ",
            "日本語。",
            "x" * 60,
        ]
    ),
    max_size=120,
).map("".join)


@given(TEXTS, st.integers(8, 60), st.integers(0, 30))
def test_pieces_hold_all_that_is_visible_in_order_and_within_the_bound(
    text: str, most: int, overlap: int
) -> None:
    spans = cut(text, words, most, min(overlap, most // 2))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert all(words(text[start:end]) <= most for start, end in spans)
    assert spans == sorted(set(spans))
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(at in covered or text[at].isspace() for at in range(len(text)))
