from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.spaces.contexts import MAX_CONTEXT_LENGTH, USUAL, cap


def test_a_long_context_ends_with_a_sentence() -> None:
    text = "This is from the annual report of the company for 2023. " * 9
    found = cap(text)
    assert found.endswith("2023.")
    assert text.startswith(found)
    assert 200 < len(found) <= MAX_CONTEXT_LENGTH


def test_or_with_a_word() -> None:
    found = cap("word " * 100)
    assert found.endswith("word…")
    assert MAX_CONTEXT_LENGTH - 10 < len(found) <= MAX_CONTEXT_LENGTH


def test_cap_cuts_within_a_word_if_needed() -> None:
    assert cap("x" * 1000) == "x" * 299 + "…"
    assert len(cap("語" * 1000)) <= MAX_CONTEXT_LENGTH


def test_the_usual_one_is_not_capped() -> None:
    assert cap(USUAL) == USUAL
    assert len(USUAL.split()) < 45


@given(st.text(min_size=1, max_size=2000))
def test_never_more(text: str) -> None:
    assert 0 < len(cap(text)) <= MAX_CONTEXT_LENGTH
    if len(text) <= MAX_CONTEXT_LENGTH:
        assert cap(text) == text
