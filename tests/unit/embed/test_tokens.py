"""Tokenizers: counts as the models count, places that join to the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.providers.model_files import TOKENIZER
from kg_api.providers.tokens import (
    QUERY_PIECES,
    Bytes,
    Cl100k,
    Tokenizer,
    cut,
    fits,
    measure,
    query_pieces,
    total,
)
from kg_api.providers.wordpiece import WordPiece

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(
        ["hello ", "🦊", "é", "\n\n", "นี่", "世界", "ﷺ", "e\u0301", "한", "<|endoftext|>", " " * 9]
    )
).map("".join)


@pytest.fixture(scope="module", params=["bytes", "cl100k", "wordpiece"])
def tokenizer(request: pytest.FixtureRequest, model_folder: Path) -> Tokenizer:
    if request.param == "wordpiece":
        return WordPiece(model_folder / TOKENIZER)
    return Bytes() if request.param == "bytes" else Cl100k()


@given(texts)
def test_places_are_in_order_and_inside_and_as_many_as_counted(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokens(text)
    assert len(tokens) == tokenizer.count(text)
    assert all(0 <= token.start <= token.end <= len(text) for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@given(texts, st.sampled_from(["", "Title > Section: "]))
def test_pieces_fit_and_join_to_the_text(tokenizer: Tokenizer, text: str, before: str) -> None:
    spans = cut(text, measure(tokenizer, 64, before))
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(fits(tokenizer, before + text[start:end], 64) for start, end in spans)


@pytest.fixture(scope="module")
def wordpiece(model_folder: Path) -> WordPiece:
    return WordPiece(model_folder / TOKENIZER)


@given(texts)
def test_no_tokenizer_makes_more_of_a_text_than_it_has_bytes(wordpiece: WordPiece, text: str) -> None:
    bound = Bytes().count(text)
    assert Cl100k().count(text) <= bound
    assert wordpiece.count(text) <= bound


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("<|endoftext|>", 7),
    ],
)
def test_openai_counts_as_openai_says(text: str, ids: int) -> None:
    """The figures of OpenAI's cookbook for cl100k_base; the name of a special token is text."""
    assert Cl100k().count(text) == ids


def test_a_byte_is_a_token_of_an_unknown_model() -> None:
    assert Bytes().count("héllo 🦊") == 1 + 2 + 4 + 4
    assert Bytes().count("ﷺ") == 33


def test_what_leaves_no_room_is_refused(tokenizer: Tokenizer) -> None:
    for before in ("heading " * 60, "x" * 200_000):
        with pytest.raises(InvalidInput, match="no room in 64 tokens"):
            measure(tokenizer, 64, before)


def test_long_texts_are_cut_in_bounded_memory(tokenizer: Tokenizer) -> None:
    for text in ("A" * 300_000, "🦊" * 100_000, " " * 300_000):
        spans = cut(text, measure(tokenizer, 512, ""))
        assert spans[-1][1] == len(text)
        assert all(fits(tokenizer, text[start:end], 512) for start, end in spans[:3])


def test_any_text_can_be_counted(tokenizer: Tokenizer) -> None:
    short = total(tokenizer, 512, "p: ", ["a b c", "d"])
    assert short == tokenizer.count("p: a b c") + tokenizer.count("p: d") + 2 * tokenizer.special
    assert total(tokenizer, 512, "", ["word " * 400_000]) > 400_000
    assert total(tokenizer, 512, "", []) == 0


def test_few_pieces_of_a_question_are_all_taken_and_many_evenly() -> None:
    text = "".join(chr(97 + n % 26) for n in range(100))
    every = [(at, at + 1) for at in range(100)]
    assert query_pieces(text, every[:QUERY_PIECES]) == list(text[:QUERY_PIECES])
    some = query_pieces(text, every)
    assert len(some) == QUERY_PIECES
    assert (some[0], some[-1]) == (text[0], text[-1])


def test_blank_pieces_of_a_question_are_left_out() -> None:
    assert query_pieces("a    b", [(0, 1), (1, 5), (5, 6)]) == ["a", "b"]
