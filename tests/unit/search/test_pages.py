"""Cursors of searches, and hits that go on behind others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kg_api.errors import InvalidInput
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.vocabulary import MAX_CURSOR_CHARACTERS, MAX_PAGED_HITS
from kg_api.search.plan import HitPage, read_page


def search(**asked: Any) -> SourceSearch:
    return SourceSearch.model_validate({"query_text": "words", **asked})


def page(*, concepts_alone: bool = False, **asked: Any) -> HitPage:
    return read_page(search(**asked), concepts_alone=concepts_alone)


@given(st.lists(st.text(max_size=40), unique=True, max_size=60), st.text(max_size=40))
def test_a_cursor_knows_what_was_given(identities: list[str], other: str) -> None:
    first, rest = identities[:20], identities[20:]
    second = page(cursor=page().next_cursor(first))
    third = page(cursor=second.next_cursor(rest))
    assert all(second.gave(each) for each in first)
    assert not any(second.gave(each) for each in rest)
    assert all(third.gave(each) for each in identities)
    assert third.gave(other) == (other in identities)


@pytest.mark.parametrize("other", [{"limit": 9}, {"query_text": "word"}, {"ontology": "a"}, {"rerank": True}])
def test_a_cursor_of_another_search_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="cursor: it belongs to another call"):
        page(**other, cursor=page().next_cursor(["a"]))


def test_a_cursor_through_concepts_alone_is_of_such_a_search_only() -> None:
    cursor = page(concepts=True, concepts_alone=True).next_cursor(["a"])
    with pytest.raises(InvalidInput, match="another call"):
        page(concepts=True, cursor=cursor)


@given(st.data())
def test_a_cursor_that_was_changed_is_refused(data: st.DataObject) -> None:
    cursor = page().next_cursor(["a", "b"])
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABCDwxyz0189-_ é=").filter(lambda each: each != cursor[at]))
    with pytest.raises(InvalidInput, match="cursor: not one that kg gave"):
        page(cursor=cursor[:at] + other + cursor[at + 1 :])


def test_the_deepest_page_has_the_thousandth_hit() -> None:
    deepest = page(cursor=page().next_cursor(map(str, range(MAX_PAGED_HITS - 10))))
    cursor = deepest.next_cursor(map(str, range(2000, 2010)))
    assert len(cursor) <= MAX_CURSOR_CHARACTERS
    with pytest.raises(
        InvalidInput, match="cursor: 1,000 hits were given, and pages go no deeper than 1,000"
    ):
        page(cursor=cursor)


def test_there_are_no_pages_of_what_is_written_anew() -> None:
    assert not page(hyde=2).may_follow
    with pytest.raises(ValidationError, match="cursor: with hyde there are no pages"):
        search(hyde="auto", cursor="x")
