from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.search import ChunkText, FoundChunk, LaneHit
from kg_api.search.present import present_hits
from kg_api.search.retrieve import Candidates, find_needed_texts
from kg_api.search.scope import Scope
from tests.unit.search.found import SAID, START, found, hits, lanes, place, plan, ranked, source


def test_one_lane_keeps_its_order_and_its_own_scores() -> None:
    lane = [found("b", 3.0), found("a", 2.0)]
    answer = hits(lanes(text=lane), 10)
    assert [(hit.source_id, hit.score, hit.ranks.text, hit.ranks.vector) for hit in answer] == [
        ("b", 3.0, 1, None),
        ("a", 2.0, 2, None),
    ]


def test_two_lanes_are_fused_and_each_hit_says_its_ranks() -> None:
    given = lanes(
        vectors={"default": [found("a", 0.9, 0.9), found("b", 0.8, 0.8)]},
        text=[found("b", 7.0, 0.8), found("c", 5.0)],
    )
    answer = hits(given, 10)
    assert answer[0].source_id == "b"
    assert {hit.source_id: (hit.ranks.vector, hit.ranks.text) for hit in answer} == {
        "b": (2, 1),
        "a": (1, None),
        "c": (None, 2),
    }


def test_an_empty_lane_is_a_lane_that_was_asked() -> None:
    answer = hits(lanes(vectors={"default": [found("a", 0.9, 0.9)]}, text=[]), 10)
    assert [hit.source_id for hit in answer] == ["a"]
    assert hits(lanes(vectors={"default": []}, text=[]), 10) == hits(lanes(text=[]), 10) == []


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 10))
def test_the_limit_cuts_the_fused_list(vectors: int, words: int, limit: int) -> None:
    vector = [found(f"v{n}", 1 - n / 10, 1 - n / 10) for n in range(vectors)]
    given = lanes(vectors={"default": vector}, text=[found(f"t{n}", 9.0 - n) for n in range(words)])
    every = hits(given, 100)
    assert len(every) == vectors + words
    assert hits(given, limit) == every[:limit]


def test_less_similar_hits_are_left_out_before_the_cut() -> None:
    lane = [found("a", 9.0, 0.2), found("b", 8.0), found("c", 7.0, 0.5), found("d", 6.0, -0.5)]
    assert [hit.source_id for hit in hits(lanes(text=lane), 1, 0.5)] == ["c"]
    assert [hit.source_id for hit in hits(lanes(text=lane), 10, -1)] == ["a", "c", "d"]
    assert len(hits(lanes(text=lane), 10, None)) == 4


def test_the_vector_lane_says_which_chunk_and_how_similar() -> None:
    given = lanes(vectors={"default": [found("a", 0.9, 0.9, chunk=(6, 10))]}, text=[found("a", 5.0, 0.4)])
    (hit,) = hits(given, 10)
    assert (hit.similarity, hit.chunk.text) == (0.9, "fox")
    assert SAID[hit.chunk.start - START : hit.chunk.end - START] == "fox"


def test_without_chunks_the_whole_source_matched_without_the_blanks_around_it() -> None:
    (hit,) = hits(lanes(text=[found("a", 5.0)]), 10)
    assert hit.chunk.text == SAID.strip()
    assert (hit.chunk.start, hit.chunk.end) == (START + 2, START + 2 + len(SAID.strip()))
    assert hit.full_text == SAID


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_a_chunk_stands_where_it_says(text: str, offset: int, length: int) -> None:
    document = "x" * START + text
    (hit,) = hits(
        lanes(
            vectors={
                "default": [
                    LaneHit(source("a"), 0.5, 0.5, FoundChunk("c", offset, offset + length, ("a",), None))
                ]
            }
        ),
        10,
        said=text,
    )
    assert document[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert hit.chunk.text == text[offset : offset + length].strip()


def test_a_hit_carries_its_place() -> None:
    (hit,) = hits(lanes(text=[found("a", 5.0)]), 10)
    assert hit.model_dump(include=set(place("a").model_dump())) == place("a").model_dump()


def test_each_space_is_a_lane_of_its_own_and_its_scores_are_compared_with_no_other() -> None:
    given = lanes({"small": [found("a", 0.2, 0.2), found("b", 0.1, 0.1)], "large": [found("c", 0.9, 0.9)]})
    answer = hits(given, 10)
    assert {(hit.source_id, hit.ranks.vector) for hit in answer} == {("a", 1), ("c", 1), ("b", 2)}
    by_rank = ranked(given, 10, fusion="rrf")
    assert [hit.identity for hit in by_rank] == ["a", "c", "b"]
    assert by_rank[0].score == by_rank[1].score == pytest.approx(1 / 61)


def test_a_chunk_over_several_sources_stands_for_the_one_that_the_words_point_at() -> None:
    vector = [found("a", 0.9, 0.9, chunk=(0, 5), covers=("a", "b", "c"))]
    text = ChunkText("all of it", START, START + 9, ("a", "b", "c"))
    (hit,) = hits(lanes({"default": vector}, [found("b", 5.0)]), 10, c_a=text)
    assert (hit.source_id, hit.ranks.vector, hit.ranks.text) == ("b", 1, 1)
    assert (hit.chunk.text, hit.chunk.source_ids) == ("all of it", ["a", "b", "c"])
    (alone,) = hits(lanes({"default": vector}), 10, c_a=text)
    assert alone.source_id == "a"


def test_the_parent_comes_with_the_hit() -> None:
    given = lanes({"default": [found("a", 0.9, 0.9, chunk=(6, 9), parent="p")]})
    assert find_needed_texts(hit.found for hit in ranked(given, 10)) == ["p"]
    (hit,) = hits(given, 10, p=ChunkText(" a larger part ", 90, 105, ("a", "b")))
    assert hit.chunk.text == "fox"
    assert hit.parent is not None
    assert (hit.parent.text, hit.parent.start, hit.parent.end) == ("a larger part", 91, 104)


def test_of_two_chunks_that_point_at_one_source_the_nearer_one_is_shown() -> None:
    near = found("a", 0.9, 0.9, chunk=(0, 5), covers=("a", "b"))
    far = found("b", 0.5, 0.5, chunk=(6, 9), covers=("b",))
    text = ChunkText("near", START, START + 4, ("a", "b"))
    answer = hits(lanes({"default": [near, far]}, [found("b", 5.0)]), 10, c_a=text)
    assert [(hit.source_id, hit.chunk.text) for hit in answer] == [("b", "near")]


def test_a_further_lane_is_fused_like_any_other() -> None:
    given = Candidates({**lanes({"default": [found("a", 0.9, 0.9)]}).lanes, "pictures": [found("b", 3.0)]})
    by_rank = ranked(given, 10, fusion="rrf")
    assert [(hit.identity, hit.parts[0].lane) for hit in by_rank] == [
        ("a", "vector:default"),
        ("b", "pictures"),
    ]


def test_an_ontology_that_has_just_come_answers_by_the_space_of_new_ones() -> None:
    """For a second a search may not know of it, and finds its passages all the same."""
    best = ranked(lanes(vectors={"default": [found("a", 0.9, 0.9)]}), 1)
    unaware = replace(plan(), scope=Scope([], {}, []))
    (hit,) = present_hits(unaware, best, {"a": place("a")}, {})
    assert (hit.similarity, hit.space) == (0.9, "default")
