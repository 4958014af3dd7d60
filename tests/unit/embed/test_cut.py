import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.tokens import Span, TokenMeasure, TokenSpan, cut


def words(text: str) -> list[TokenSpan]:
    return [TokenSpan(*found.span(), word) for word, found in enumerate(re.finditer(r"\S+", text))]


def measure(budget: int, max_chars: int = 10_000) -> TokenMeasure:
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


texts = st.text() | st.lists(
    st.sampled_from(["a", "word.", " ", "\n\n", "。", "é", "👩‍👩‍👧", "ไทย", "\x00"])
).map("".join)


@given(texts, st.integers(1, 9), st.integers(4, 200))
def test_spans_tile_any_text_and_each_piece_fits(text: str, budget: int, max_chars: int) -> None:
    found = cut(text, measure(budget, max_chars))
    assert tiles(text, found)
    assert all(measure(budget, max_chars).fits(piece) for piece in pieces(text, found))


@given(
    st.lists(st.sampled_from(["one", "two", "three.", "four\n", "five.\n\n"]), min_size=1), st.integers(8, 20)
)
def test_pieces_are_balanced(given_words: list[str], budget: int) -> None:
    text = " ".join(given_words)
    sizes = [len(words(piece)) for piece in pieces(text, cut(text, measure(budget)))]
    assert sum(sizes) == len(words(text))
    assert len(sizes) == 1 or min(sizes) >= budget * 0.3


@given(st.lists(st.text("ab🦊é", min_size=1), min_size=2, max_size=60))
def test_words_stay_whole_where_they_fit(given_words: list[str]) -> None:
    text = " ".join(given_words)
    assert [word for piece in pieces(text, cut(text, measure(5))) for word in piece.split()] == text.split()


def test_a_short_text_is_one_piece_and_an_empty_one_none() -> None:
    assert cut("three short words", measure(3)) == [(0, 17)]
    assert cut("", measure(3)) == []


def test_a_sentence_end_beats_a_space() -> None:
    text = "a b c d. e f g h i j."
    assert pieces(text, cut(text, measure(6))) == ["a b c d. ", "e f g h i j."]


def test_a_paragraph_end_beats_a_sentence_end() -> None:
    text = "a b c d\n\ne. f g h i j."
    assert pieces(text, cut(text, measure(6))) == ["a b c d\n\n", "e. f g h i j."]


def test_a_dot_inside_a_word_is_no_sentence_end() -> None:
    def parts(text: str) -> list[TokenSpan]:
        return [
            TokenSpan(*found.span(), word) for word, found in enumerate(re.finditer(r"\w+|[^\w\s]", text))
        ]

    text = "a b c d e x.y f g h i j"
    found = cut(text, TokenMeasure(parts, lambda piece: len(parts(piece)) <= 12, 12, 100))
    assert pieces(text, found) in (["a b c d e ", "x.y f g h i j"], ["a b c d e x.y ", "f g h i j"])


def test_a_full_stop_without_a_space_ends_a_chinese_sentence() -> None:
    def characters(text: str) -> list[TokenSpan]:
        return [TokenSpan(at, at + 1, at) for at in range(len(text))]

    text = "一二三四。五六七八九十。"
    found = cut(text, TokenMeasure(characters, lambda piece: len(piece) <= 8, 8, 100))
    assert pieces(text, found) == ["一二三四。", "五六七八九十。"]


@given(st.integers(1, 7))
def test_tokens_that_share_a_character_are_not_parted(width: int) -> None:
    """Byte-level tokenizers make several tokens of one character."""

    def byte_tokens(text: str) -> list[TokenSpan]:
        return [TokenSpan(at, at + 1, 0) for at in range(len(text)) for _ in range(width)]

    text = "🦊" * 20
    found = cut(text, TokenMeasure(byte_tokens, lambda piece: len(piece) * width <= 6, 6, 100))
    assert tiles(text, found)
    assert all(len(piece) <= max(1, 6 // width) for piece in pieces(text, found))


def test_a_piece_that_measures_longer_by_itself_is_cut_again() -> None:
    """A part of a word can have more tokens than it had inside the word."""

    def tokens(text: str) -> list[TokenSpan]:
        inside = [TokenSpan(at, min(at + 4, len(text)), 0) for at in range(0, len(text), 4)]
        return inside if text.startswith("^") else [TokenSpan(at, at + 1, 0) for at in range(len(text))]

    text = "^" + "x" * 99
    found = cut(text, TokenMeasure(tokens, lambda piece: len(tokens(piece)) <= 10, 10, 1000))
    assert tiles(text, found)
    assert all(len(tokens(piece)) <= 10 for piece in pieces(text, found))


@given(texts)
@example("antidisestablishmentarianism" * 9)
@example("Ünïcödé ﬁne e\u0301 " * 30)
@example("นี่คือข้อความภาษาไทย " * 30)
@example("这是一个没有空格的长文本" * 9)
@example("[SEP] [CLS] " * 20)
def test_the_real_tokenizer_agrees(short: LocalEmbedder, text: str) -> None:
    found = short.spans(text)
    assert tiles(text, found)
    assert all(short._model.measure("").fits(piece) for piece in pieces(text, found))


@pytest.mark.parametrize("size", [2_000_000, pytest.param(10_000_000, marks=pytest.mark.full)])
def test_megabytes_on_one_line_are_cut_in_bounded_memory(local: LocalEmbedder, size: int) -> None:
    text = "x" * size
    assert tiles(text, local.spans(text))
