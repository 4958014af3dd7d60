from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from kg_api.schemas.search import SourcePlace, WordMatch
from kg_api.wording import find_gap
from kg_cli.search.views import SHOWN_CHARACTERS, excerpt, find_marks, mark
from kg_cli.terminal.console import styled

LONG = "before " * 200 + "needle " + "after " * 200
NEEDLE = (LONG.index("needle"), LONG.index("needle") + 6)
SOURCE = SourcePlace(
    source_id="s", ontology="o", document="d", document_id="i", paragraph=0, heading=[], start=100, end=160
)


def marked(text: Text) -> list[str]:
    return [text.plain[span.start : span.end] for span in text.spans]


def test_short_passage_is_shown_whole_with_marks() -> None:
    shown = styled(excerpt("  a short one\n", [(4, 9)]))
    assert (shown.plain, marked(shown)) == ("a short one", ["short"])


def test_long_passage_is_shown_around_first_mark() -> None:
    shown = styled(excerpt(LONG, [NEEDLE, (len(LONG) - 6, len(LONG) - 1)]))
    assert (shown.plain[0], shown.plain[-1], len(shown)) == ("…", "…", SHOWN_CHARACTERS + 2)
    assert "needle" in shown.plain[: len(shown) // 2]
    assert marked(shown) == ["needle"], "what is not shown is not marked"


def test_passage_without_mark_is_shown_from_start() -> None:
    shown = styled(excerpt("first " + "more " * 300))
    assert (shown.plain[:5], shown.plain[-1]) == ("first", "…")


def test_a_mark_at_the_end_shows_the_end() -> None:
    text = "before " * 200 + "needle"
    shown = styled(excerpt(text, [(len(text) - 6, len(text))]))
    assert (shown.plain[0], shown.plain[-6:], marked(shown)) == ("…", "needle", ["needle"])


@pytest.mark.parametrize(
    ("start", "text", "expected"),
    [
        (100, "a lease of ten", ["lease"]),
        (102, "lease of ten", ["lease"]),
        (104, "ase of ten", ["ase"]),
        (90, "in front; a lease", ["lease"]),
        (90, "in front; a le", ["le"]),
        (110, "n seconds", []),
    ],
)
def test_source_marks_are_found_in_document_parts(start: int, text: str, expected: list[str]) -> None:
    marks = find_marks(SOURCE, [WordMatch(start=2, end=7)], start, text)
    assert marked(styled(mark(text, marks))) == expected


@given(st.text(max_size=2000), st.data())
def test_an_excerpt_is_a_part_of_the_passage(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    marks = sorted({(min(pair), max(pair)) for pair in data.draw(st.lists(st.tuples(places, places)))})
    shown = styled(excerpt(text, marks))
    assert len(shown) <= SHOWN_CHARACTERS + 2
    whole = styled(mark(text)).plain
    assert shown.plain in whole or shown.plain.removeprefix("…").removesuffix("…") in whole


def test_control_characters_do_not_move_marks() -> None:
    assert marked(styled(mark("a\r\n\x0clease\x07", [(4, 9)]))) == ["lease"]


@pytest.mark.parametrize(
    ("scores", "weak"),
    [
        ([3.4, 1.8, 1.7, 1.5], 1),
        ([0.71, 0.70, 0.52, 0.50], 2),
        ([0.70, 0.69, 0.68], None),
        ([3, 2, 1], None),
        ([3, 1], None),
        ([1, 3, 0.1], None),
        ([], None),
    ],
)
def test_weaker_hits_begin_after_a_gap(scores: list[float], weak: int | None) -> None:
    assert find_gap(scores) == weak
