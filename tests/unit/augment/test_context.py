"""The context block: each passage contained, cited, and within the budget."""

from __future__ import annotations

import pytest

from kg_api.schemas.search import Degradation, MatchedChunk
from kg_api.search.augment import MergedPassage, PackedContext, PieceHit, context_of, together
from kg_api.text.markdown import blocks
from tests.unit.augment.test_merge import hit

HOSTILE = "# not a heading of the block\n\n```\nnever closed\n\n"


def passages(*texts: str) -> list[MergedPassage]:
    return [
        MergedPassage((PieceHit(1, n, hit(f"s{n}", 0.9, text=text)),))
        for n, text in enumerate(texts, start=1)
    ]


def context(*texts: str, budget: int | None = None) -> PackedContext:
    return context_of(passages(*texts), lambda text: len(text.split()), budget)


def test_each_passage_stands_below_its_place_and_citation() -> None:
    told = context("one\ntwo\n\n")
    assert told.text == "### 1. notes / s1\n\n[s1#0-7], similarity 0.90\n\n> one\n> two\n\n"
    (record,) = told.records
    assert (record.citation, record.text, record.full_text) == ("s1#0-7", "one\ntwo", "one\ntwo\n\n")
    assert told.tokens == record.tokens == len(told.text.split())


def test_no_passage_breaks_out_of_its_quotation() -> None:
    told = context(HOSTILE, "after")
    titles = [block.title for block in blocks(told.text) if block.kind == "heading"]
    assert titles == ["1. notes / s1", "2. notes / s2"]


def test_what_does_not_fit_is_passed_over_and_counted() -> None:
    whole = context("one", "two " * 50, "three")
    told = context("one", "two " * 50, "three", budget=whole.tokens - 50)
    assert [record.text for record in told.records] == ["one", "three"]
    assert (told.left_out, whole.left_out) == (1, 0)
    assert told.tokens <= whole.tokens - 50
    assert "### 2. notes / s3" in told.text
    assert context("one", budget=1).text == ""


@pytest.mark.parametrize("similarity", [None, 0.5])
def test_the_larger_part_is_given_where_there_is_one(similarity: float | None) -> None:
    parent = MatchedChunk(text="the larger part", start=5, end=20)
    passage = MergedPassage((PieceHit(1, 1, hit("a", similarity, parent=parent)),))
    (record,) = context_of([passage], len, None).records
    assert (record.text, record.citation) == ("the larger part", "a#5-20")


def test_what_could_not_be_done_is_told_once_with_its_pieces() -> None:
    words = [Degradation(part="query", effect=f"the first 64 words were used, {n} left out") for n in (5, 7)]
    other = Degradation(part="embedding", effect="away")
    told = together([(1, words[0]), (1, other), (2, words[1]), (2, other), (2, other)])
    assert [(each.part, each.pieces) for each in told] == [("query", [1, 2]), ("embedding", [1, 2])]
    assert told[0].effect == words[0].effect
