from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.search import Ranks, SourceHit, WordMatch
from kg_api.web.ui.rendering import SHOWN_CHARACTERS, excerpt, reasons, split_by_marks


def hit(shown: str, *matches: tuple[int, int], **ranks: int) -> SourceHit:
    given: dict[str, Any] = {
        "source_id": "s",
        "ontology": "o",
        "document": "d",
        "document_id": "i",
        "paragraph": 0,
        "heading": [],
        "start": 0,
        "end": len(shown),
        "full_text": shown,
        "similarity": 0.5,
        "matched_chunk": None,
        "score": 1.0,
        "space": None,
        "concepts": None,
        "ranks": Ranks(**ranks),
        "matches": [WordMatch(start=start, end=end) for start, end in matches],
    }
    return SourceHit.model_construct(**given)


@given(st.text(max_size=80), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=6))
def test_pieces_are_the_whole_text(text: str, matches: list[tuple[int, int]]) -> None:
    pieces = split_by_marks(text, [WordMatch(start=start, end=end) for start, end in matches])
    assert "".join(each.text for each in pieces) == text


def test_matches_are_marked() -> None:
    pieces = split_by_marks("a bee and a bee", [WordMatch(start=12, end=15), WordMatch(start=2, end=5)])
    assert [tuple(each) for each in pieces] == [
        ("a ", False),
        ("bee", True),
        (" and a ", False),
        ("bee", True),
    ]


@given(st.integers(0, 3400), st.integers(1, 40))
def test_long_passage_is_shown_around_first_match(at: int, length: int) -> None:
    text = " ".join(f"{word:04}" for word in range(700))
    shown = excerpt(hit(text, (at, at + length)))
    told = "".join(each.text for each in shown.pieces)
    assert len(told) <= SHOWN_CHARACTERS
    assert told in text
    assert "".join(each.text for each in shown.pieces if each.matched) == text[at : at + length]
    assert (shown.cut_before, shown.cut_after) == (not text.startswith(told), not text.endswith(told))


def test_reasons_name_what_found_it() -> None:
    assert reasons(hit("a", vector=1, text=12)) == ["semantic rank 1", "keyword rank 12", "similarity 0.50"]
