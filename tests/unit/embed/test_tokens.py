from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import TOKENIZER
from kg_api.providers.tokens import (
    QUERY_PIECES,
    Bytes,
    Cl100k,
    Span,
    Tokenizer,
    TokenMeasure,
    TokenSpan,
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
def test_token_positions_are_ordered_and_match_the_count(tokenizer: Tokenizer, text: str) -> None:
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
def test_token_count_never_exceeds_bytes(wordpiece: WordPiece, text: str) -> None:
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
    """These numbers are from the OpenAI cookbook for cl100k_base. The names of special tokens are used as
    text."""
    assert Cl100k().count(text) == ids


def test_unknown_model_counts_one_token_per_byte() -> None:
    assert Bytes().count("héllo 🦊") == 1 + 2 + 4 + 4
    assert Bytes().count("ﷺ") == 33


def test_text_before_without_room_is_rejected(tokenizer: Tokenizer) -> None:
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


def test_long_query_is_sampled_evenly() -> None:
    text = "".join(chr(97 + n % 26) for n in range(100))
    every = [(at, at + 1) for at in range(100)]
    assert query_pieces(text, every[:QUERY_PIECES]) == list(text[:QUERY_PIECES])
    some = query_pieces(text, every)
    assert len(some) == QUERY_PIECES
    assert (some[0], some[-1]) == (text[0], text[-1])


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


any_texts = st.text() | st.lists(
    st.sampled_from(["a", "word.", " ", "\n\n", "。", "é", "👩‍👩‍👧", "ไทย", "\x00"])
).map("".join)


@given(any_texts, st.integers(1, 9), st.integers(4, 200))
def test_spans_tile_any_text_and_each_piece_fits(text: str, budget: int, max_chars: int) -> None:
    found = cut(text, words_measure(budget, max_chars))
    assert tiles(text, found)
    assert all(words_measure(budget, max_chars).fits(piece) for piece in pieces(text, found))


@given(
    st.lists(st.sampled_from(["one", "two", "three.", "four\n", "five.\n\n"]), min_size=1), st.integers(8, 20)
)
def test_pieces_are_balanced(given_words: list[str], budget: int) -> None:
    text = " ".join(given_words)
    sizes = [len(words(piece)) for piece in pieces(text, cut(text, words_measure(budget)))]
    assert sum(sizes) == len(words(text))
    assert len(sizes) == 1 or min(sizes) >= budget * 0.3


@given(st.lists(st.text("ab🦊é", min_size=1), min_size=2, max_size=60))
def test_fitting_words_stay_whole(given_words: list[str]) -> None:
    text = " ".join(given_words)
    assert [
        word for piece in pieces(text, cut(text, words_measure(5))) for word in piece.split()
    ] == text.split()


@pytest.mark.parametrize(
    "parts",
    [[], ["three short words"], ["a b c d. ", "e f g h i j."], ["a b c d\n\n", "e. f g h i j."]],
    ids=["nothing", "short", "a sentence end beats a space", "a paragraph end beats a sentence end"],
)
def test_text_is_cut_at_its_best_end(parts: list[str]) -> None:
    text = "".join(parts)
    assert pieces(text, cut(text, words_measure(6))) == parts


def test_dot_inside_a_word_ends_no_sentence() -> None:
    def parts(text: str) -> list[TokenSpan]:
        return [
            TokenSpan(*found.span(), word) for word, found in enumerate(re.finditer(r"\w+|[^\w\s]", text))
        ]

    text = "a b c d e x.y f g h i j"
    found = cut(text, TokenMeasure(parts, lambda piece: len(parts(piece)) <= 12, 12, 100))
    assert pieces(text, found) in (["a b c d e ", "x.y f g h i j"], ["a b c d e x.y ", "f g h i j"])


def test_chinese_full_stop_ends_a_sentence() -> None:
    def characters(text: str) -> list[TokenSpan]:
        return [TokenSpan(at, at + 1, at) for at in range(len(text))]

    text = "一二三四。五六七八九十。"
    found = cut(text, TokenMeasure(characters, lambda piece: len(piece) <= 8, 8, 100))
    assert pieces(text, found) == ["一二三四。", "五六七八九十。"]


@given(st.integers(1, 7))
def test_tokens_that_share_a_character_are_not_parted(width: int) -> None:
    """Byte-level tokenizers can use more than one token for a character."""

    def byte_tokens(text: str) -> list[TokenSpan]:
        return [TokenSpan(at, at + 1, 0) for at in range(len(text)) for _ in range(width)]

    text = "🦊" * 20
    found = cut(text, TokenMeasure(byte_tokens, lambda piece: len(piece) * width <= 6, 6, 100))
    assert tiles(text, found)
    assert all(len(piece) <= max(1, 6 // width) for piece in pieces(text, found))


def test_piece_that_measures_longer_is_cut_again() -> None:
    """If you cut a word, a part can have more tokens than it had in the word."""

    def tokens(text: str) -> list[TokenSpan]:
        inside = [TokenSpan(at, min(at + 4, len(text)), 0) for at in range(0, len(text), 4)]
        return inside if text.startswith("^") else [TokenSpan(at, at + 1, 0) for at in range(len(text))]

    text = "^" + "x" * 99
    found = cut(text, TokenMeasure(tokens, lambda piece: len(tokens(piece)) <= 10, 10, 1000))
    assert tiles(text, found)
    assert all(len(tokens(piece)) <= 10 for piece in pieces(text, found))


@given(any_texts)
@example("antidisestablishmentarianism" * 9)
@example("Ünïcödé ﬁne e\u0301 " * 30)
@example("นี่คือข้อความภาษาไทย " * 30)
@example("这是一个没有空格的长文本" * 9)
@example("[SEP] [CLS] " * 20)
def test_the_real_tokenizer_agrees(short: LocalEmbedder, text: str) -> None:
    found = short.spans(text)
    assert tiles(text, found)
    own = measure(short._tokenizer, short.identity.max_tokens, "")
    assert all(own.fits(piece) for piece in pieces(text, found))
