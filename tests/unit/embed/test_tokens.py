from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.providers.model_files import TOKENIZER
from kg_api.providers.tokens import Bytes, Cl100k, Span, Tokenizer, cut, fits
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


@given(texts, st.sampled_from(["", "Title > Section: "]))
@example("antidisestablishmentarianism" * 9, "")
@example("Ünïcödé ﬁne e\u0301 " * 30, "")
@example("นี่คือข้อความภาษาไทย " * 30, "")
@example("这是一个没有空格的长文本" * 9, "")
@example("[SEP] [CLS] " * 20, "")
def test_pieces_fit_and_join_to_the_text(tokenizer: Tokenizer, text: str, before: str) -> None:
    spans = cut(tokenizer, 64, before, text)
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
    ("text", "ids"), [("hello world", 2), ("お誕生日おめでとう", 9), ("<|endoftext|>", 7)]
)
def test_openai_counts_as_openai_says(text: str, ids: int) -> None:
    """These numbers are from the OpenAI cookbook for cl100k_base. The names of special tokens are used as
    text."""
    assert Cl100k().count(text) == ids


def test_text_before_without_room_is_rejected(tokenizer: Tokenizer) -> None:
    for before in ("heading " * 60, "x" * 200_000):
        with pytest.raises(InvalidInput, match="no room in 64 tokens"):
            cut(tokenizer, 64, before, "text")


def test_long_texts_are_cut_in_bounded_memory(tokenizer: Tokenizer) -> None:
    for text in ("A" * 300_000, "🦊" * 100_000, " " * 300_000):
        spans = cut(tokenizer, 512, "", text)
        assert spans[-1][1] == len(text)
        assert all(fits(tokenizer, text[start:end], 512) for start, end in spans[:3])


class Words:
    """Tokenizer that counts words, with a limit of characters."""

    special = 0
    widest = 1

    def __init__(self, max_chars: int = 10_000) -> None:
        self._max_chars = max_chars

    def max_characters(self, max_tokens: int) -> int:  # noqa: ARG002 - words may be of any length
        return self._max_chars

    def count(self, text: str) -> int:
        assert len(text) <= self._max_chars, "so long a text must not be tokenised in one go"
        return len(text.split())


def tiles(text: str, spans: list[Span]) -> bool:
    borders = [0, *(end for _, end in spans)]
    return spans == list(pairwise(borders)) and borders[-1] == len(text) and all(a < b for a, b in spans)


@given(
    st.lists(st.sampled_from(["one", "two", "three.", "four\n", "five.\n\n"]), min_size=1), st.integers(8, 20)
)
def test_pieces_are_balanced(given_words: list[str], budget: int) -> None:
    text = " ".join(given_words)
    sizes = [len(text[start:end].split()) for start, end in cut(Words(), budget, "", text)]
    assert sum(sizes) == len(text.split())
    assert len(sizes) == 1 or min(sizes) >= budget * 0.3


@pytest.mark.parametrize(
    "parts",
    [[], ["three short words"], ["A b c d. ", "E f g h i j."]],
    ids=["nothing", "short", "a sentence end beats a space"],
)
def test_text_is_cut_at_its_best_end(parts: list[str]) -> None:
    text = "".join(parts)
    assert [text[start:end] for start, end in cut(Words(), 6, "", text)] == parts
