"""From the hits of all pieces to the passages: each step, and that every hit is counted once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.search import MatchedChunk, Ranks, SourceHit
from kg_api.search.augment import Choices, PassageSelection, PieceHit, select

ALL = Choices(per_piece=100, per_document=None, limit=100, deduplicate=False, by_rank=False)


def hit(source: str, similarity: float | None, document: str | None = None, **more: Any) -> SourceHit:
    text = more.pop("text", f"{source} says something of its own")
    return SourceHit(
        source_id=source,
        ontology="notes",
        document=document or source,
        document_id=document or source,
        paragraph=0,
        heading=[],
        start=0,
        end=len(text),
        full_text=text,
        similarity=similarity,
        space=None if similarity is None else more.pop("space", "default"),
        score=0.0,
        ranks=Ranks(),
        chunk=MatchedChunk(text=text, start=0, end=len(text)),
        **more,
    )


def found(piece: int, *hits: SourceHit) -> list[PieceHit]:
    return [PieceHit(piece, rank, each) for rank, each in enumerate(hits, start=1)]


def chosen(hits: list[PieceHit], **choices: Any) -> PassageSelection:
    kept = {name: getattr(ALL, name) for name in Choices.__dataclass_fields__} | choices
    return select(hits, Choices(**kept))


def ids(selection: PassageSelection) -> list[str]:
    return [passage.nearest.hit.source_id for passage in selection.passages]


def test_the_nearest_piece_counts_and_the_others_are_named() -> None:
    hits = [*found(1, hit("a", 0.8), hit("b", 0.7)), *found(2, hit("b", 0.9), hit("c", 0.6))]
    selection = chosen(hits)
    assert ids(selection) == ["b", "a", "c"]
    assert [each.piece for each in selection.passages[0].found] == [2, 1]
    assert selection.passages[0].rank == 1
    assert (selection.order, +selection.left_out) == ("similarity", Counter(found_again=1))


def test_ranks_decide_where_similarities_are_of_two_spaces_or_not_the_aim() -> None:
    hits = [*found(1, hit("a", 0.5), hit("b", 0.9)), *found(2, hit("c", 0.6, space="large"))]
    assert (ids(chosen(hits)), chosen(hits).order) == (["c", "a", "b"], "rank")
    assert ids(chosen(hits[:2])) == ["b", "a"]
    assert ids(chosen(hits[:2], by_rank=True)) == ["a", "b"]


def test_each_document_gives_its_best() -> None:
    hits = found(1, hit("a", 0.9, "d"), hit("b", 0.8, "d"), hit("c", 0.7, "e"), hit("f", 0.6, "d"))
    selection = chosen(hits, per_document=1)
    assert (ids(selection), selection.left_out["beyond_per_document"]) == (["a", "c"], 2)
    assert ids(chosen(hits, per_document=2)) == ["a", "b", "c"]


def test_near_duplicates_are_one_and_named() -> None:
    text = "the lease of a worker is renewed every ten seconds while it is alive"
    hits = found(1, hit("a", 0.9, text=text), hit("b", 0.8, text="other"), hit("c", 0.7, text=text.upper()))
    selection = chosen(hits, deduplicate=True)
    assert ids(selection) == ["a", "b"]
    assert (selection.passages[0].duplicates, selection.left_out["duplicates"]) == (("c",), 1)
    assert ids(chosen(hits)) == ["a", "b", "c"]


def test_parts_of_one_larger_part_are_one_passage() -> None:
    parent = MatchedChunk(text="both", start=0, end=50)
    hits = found(1, hit("a", 0.9, "d", parent=parent), hit("b", 0.8, "d", parent=parent))
    selection = chosen(hits)
    assert (ids(selection), selection.left_out["found_again"]) == (["a"], 1)


@pytest.mark.parametrize("limit", [1, 2])
def test_the_limit_is_told(limit: int) -> None:
    selection = chosen(found(1, hit("a", 0.9), hit("b", 0.8), hit("c", 0.7)), limit=limit)
    assert (ids(selection), selection.left_out["beyond_limit"]) == (["a", "b", "c"][:limit], 3 - limit)


HITS = st.builds(
    hit,
    st.sampled_from("abcdefgh"),
    st.none() | st.sampled_from([-0.5, 0.0, 0.5, 0.69, 0.7, 0.9]),
    st.sampled_from("xyz"),
    text=st.sampled_from(["one two three four", "One, two three four!", "else"]),
)
PIECES = st.lists(st.lists(HITS, max_size=6, unique_by=lambda each: each.source_id), max_size=5).map(
    lambda pieces: [each for n, hits in enumerate(pieces, start=1) for each in found(n, *hits)]
)
CHOICES = st.builds(
    Choices,
    per_piece=st.integers(1, 4),
    per_document=st.none() | st.integers(1, 3),
    limit=st.integers(1, 6),
    deduplicate=st.booleans(),
    by_rank=st.booleans(),
)


@given(PIECES, CHOICES)
def test_every_hit_is_given_or_counted(hits: list[PieceHit], choices: Choices) -> None:
    selection = select(hits, choices)
    assert sum(selection.left_out.values()) + len(selection.passages) == len(hits)
    assert all(count >= 0 for count in selection.left_out.values())


@given(PIECES, CHOICES)
def test_the_choices_hold(hits: list[PieceHit], choices: Choices) -> None:
    selection = select(hits, choices)
    assert len(selection.passages) <= choices.limit
    documents = Counter(passage.nearest.hit.document_id for passage in selection.passages)
    assert all(count <= (choices.per_document or 100) for count in documents.values())
    assert len(set(ids(selection))) == len(selection.passages)
    for passage in selection.passages:
        similarity = passage.nearest.hit.similarity
        assert similarity == max(
            (each.hit.similarity for each in passage.found if each.hit.similarity is not None), default=None
        )
    if selection.order == "similarity":
        near = [passage.nearest.hit.similarity or 0.0 for passage in selection.passages]
        assert near == sorted(near, reverse=True)


@given(PIECES, CHOICES, st.randoms())
def test_the_order_in_which_pieces_end_makes_no_difference(
    hits: list[PieceHit], choices: Choices, dice: Any
) -> None:
    shuffled = list(hits)
    dice.shuffle(shuffled)
    assert ids(select(shuffled, choices)) == ids(select(hits, choices))
