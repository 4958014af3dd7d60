from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.providers.model_files import TOKENIZER
from kg_api.providers.tokens import (
    Bytes,
    Cl100k,
    Span,
    Tokenizer,
    TokenMeasure,
    TokenSpan,
    cut,
    fits,
    measure,
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
def test_token_positions_are_ordered_and_match_the_count(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokens(text)
    assert len(tokens) == tokenizer.count(text)
    assert all(0 <= token.start <= token.end <= len(text) for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@given(texts, st.sampled_from(["", "Title > Section: "]))
@example("antidisestablishmentarianism" * 9, "")
@example("Ünïcödé ﬁne e\u0301 " * 30, "")
@example("นี่คือข้อความภาษาไทย " * 30, "")
@example("这是一个没有空格的长文本" * 9, "")
@example("[SEP] [CLS] " * 20, "")
def test_pieces_fit_and_join_to_the_text(tokenizer: Tokenizer, text: str, before: str) -> None:
    spans = cut(text, measure(tokenizer, 64, before))
    assert tiles(text, spans)
    assert all(fits(tokenizer, before + text[start:end], 64) for start, end in spans)


@pytest.fixture(scope="module")
def wordpiece(model_folder: Path) -> WordPiece:
    return WordPiece(model_folder / TOKENIZER)


@given(texts)
def test_token_count_never_exceeds_bytes(wordpiece: WordPiece, text: str) -> None:
    bound = Bytes().count(text)
    assert Cl100k().count(text) <= bound
    assert wordpiece.count(text) <= bound


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("hello world", 2),
        ("お誕生日おめでとう", 9),
        ("<|endoftext|>", 7),
    ],
)
def test_openai_counts_as_openai_says(text: str, ids: int) -> None:
    """These numbers are from the OpenAI cookbook for cl100k_base. The names of special tokens are used as
    text."""
    assert Cl100k().count(text) == ids


def test_text_before_without_room_is_rejected(tokenizer: Tokenizer) -> None:
    for before in ("heading " * 60, "x" * 200_000):
        with pytest.raises(InvalidInput, match="no room in 64 tokens"):
            measure(tokenizer, 64, before)


def test_long_texts_are_cut_in_bounded_memory(tokenizer: Tokenizer) -> None:
    for text in ("A" * 300_000, "🦊" * 100_000, " " * 300_000):
        spans = cut(text, measure(tokenizer, 512, ""))
        assert spans[-1][1] == len(text)
        assert all(fits(tokenizer, text[start:end], 512) for start, end in spans[:3])


def words(text: str) -> list[TokenSpan]:
    return [TokenSpan(*found.span(), word) for word, found in enumerate(re.finditer(r"\S+", text))]


def words_measure(budget: int, max_chars: int = 10_000) -> TokenMeasure:
    def tokens(text: str) -> list[TokenSpan]:
        assert len(text) <= max_chars, "so long a text must not be tokenised in one go"
        return words(text)

    def fits(text: str) -> bool:
        return len(text) <= max_chars and len(tokens(text)) <= budget

    return TokenMeasure(tokens, fits, budget, max_chars)


def pieces(text: str, spans: list[Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


def tiles(text: str, spans: list[Span]) -> bool:
    borders = [0, *(end for _, end in spans)]
    return spans == list(pairwise(borders)) and borders[-1] == len(text) and all(a < b for a, b in spans)


@given(
    st.lists(st.sampled_from(["one", "two", "three.", "four\n", "five.\n\n"]), min_size=1), st.integers(8, 20)
)
def test_pieces_are_balanced(given_words: list[str], budget: int) -> None:
    text = " ".join(given_words)
    sizes = [len(words(piece)) for piece in pieces(text, cut(text, words_measure(budget)))]
    assert sum(sizes) == len(words(text))
    assert len(sizes) == 1 or min(sizes) >= budget * 0.3


@pytest.mark.parametrize(
    "parts",
    [[], ["three short words"], ["a b c d. ", "e f g h i j."], ["a b c d\n\n", "e. f g h i j."]],
    ids=["nothing", "short", "a sentence end beats a space", "a paragraph end beats a sentence end"],
)
def test_text_is_cut_at_its_best_end(parts: list[str]) -> None:
    text = "".join(parts)
    assert pieces(text, cut(text, words_measure(6))) == parts
