from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from kg_api.convert.pdf.pages import LetterStream, find_passage

PAGE = (
    "Guide to gardens 17 Apricots ripen early in July, where win-\nters are mild and springs are dry. "
    "Blueberries need acid soil; the \ufb01ne roots su\ufb00er from lime. Cherries split after heavy rain."
)


def said(words: Sequence[Sequence[int]], page: str) -> list[str]:
    stream = LetterStream.from_letters(page)
    return [page[stream.origin[each[0]] : stream.origin[each[-1]] + 1] for each in words]


def found(passage: str, page: str = PAGE) -> list[str]:
    return said(find_passage(LetterStream.from_letters(passage), LetterStream.from_letters(page)), page)


def test_word_hyphenated_at_line_end_is_found() -> None:
    assert found("where winters are mild") == ["where", "win-\nters", "are", "mild"]


def test_ligatures_accents_case_and_marks_do_not_matter() -> None:
    assert found("**The fine roots** suffer from LIME.") == ["the", "ﬁne", "roots", "suﬀer", "from", "lime"]
    assert found("Uber den Fluss nach Koln", "U\u0308ber den Flu\u00df nach K\u00f6ln") == [
        "U\u0308ber", "den", "Flu\u00df", "nach", "K\u00f6ln",
    ]  # fmt: skip


def test_passage_across_pages_matches_its_part_here() -> None:
    passage = "Cherries split after heavy rain. Dates are picked in the autumn, when they are brown."
    assert found(passage) == ["Cherries", "split", "after", "heavy", "rain"]


@pytest.mark.parametrize("passage", ["", "...", "Dates are picked in the autumn", "x", "early in May"])
def test_absent_passage_is_not_found(passage: str) -> None:
    assert found(passage) == []


def test_few_letters_match_only_headings_or_whole_words() -> None:
    assert found("# 17") == ["17"]
    assert found("## Berry", "Blueberry. A berry, berry good.") == ["berry"]
    assert found("berr", "berry") == []


def test_repeated_phrase_matches_where_passage_continues() -> None:
    page = "See the user guide for more. Then read on. See the user guide for less of it, or ask us."
    words = find_passage(
        LetterStream.from_letters("See the user guide for less of it"), LetterStream.from_letters(page)
    )
    assert words[0][0] == LetterStream.from_letters(page).text.rindex("seetheuser")


def test_a_page_that_repeats_itself_takes_no_time() -> None:
    begun = time.monotonic()
    words = find_passage(
        LetterStream.from_letters("a" * 50_000 + " ab" * 5000), LetterStream.from_letters("a" * 100_000)
    )
    assert time.monotonic() - begun < 5
    assert len(words) == 1
