from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.models.identity import concept_name
from kg_api.models.queries.search import CarriedConcept
from kg_api.search.rank.order import fuse_lanes, join_further
from kg_api.search.retrieve.concept_lane import MAX_NAME_WORDS, MAX_WORDS, MIN_NAME_CHARACTERS, names_in
from kg_api.search.retrieve.hits import CONCEPTS
from tests.unit.search.found import found, lanes, plan

BEE = CarriedConcept(concept_id="c", label="bee")


def test_names_are_looked_for_in_all_words_of_the_question_in_a_row() -> None:
    assert list(names_in("Who is Ada Lovelace?"))[:3] == [
        "who is ada lovelace",
        "who is ada",
        "is ada lovelace",
    ]
    assert "ada lovelace" in set(names_in("Who is Ada Lovelace?"))
    assert "is" not in set(names_in("Who is Ada Lovelace?"))


@given(st.text(max_size=300))
def test_names_are_parts_of_the_question(text: str) -> None:
    whole = f" {concept_name(text)} "
    for name in names_in(text):
        assert f" {name} " in whole
        assert len(name) >= MIN_NAME_CHARACTERS
        assert len(name.split()) <= MAX_NAME_WORDS


def test_a_very_long_question_has_bounded_names() -> None:
    assert len(list(names_in("word " * 10_000))) <= MAX_NAME_WORDS * MAX_WORDS


def test_what_concepts_lead_to_is_joined_by_rank() -> None:
    passages = fuse_lanes(plan(), lanes(text=[found("a", 3), found("b", 2), found("c", 1)]))
    carried = [found("x", 9, through=(BEE,)), found("b", 5, through=(BEE,))]
    joined = join_further(passages, {CONCEPTS: carried})
    assert [hit.identity for hit in joined] == ["b", "a", "x", "c"]
    assert joined[0].score == 1 / 62 + 1 / 62
    assert [hit.fused_rank for hit in joined] == [1, 2, 3, 4]
    assert [hit.passage_rank for hit in joined] == [2, 1, None, 3]
    assert [hit.ranks.concepts for hit in joined] == [2, None, 1, None]
    assert joined[0].found.through == (BEE,)
    assert joined[2].parts[-1].lane == CONCEPTS


def test_without_concepts_the_order_stays() -> None:
    passages = fuse_lanes(plan(), lanes(text=[found("a", 3), found("b", 2)]))
    assert [hit.identity for hit in join_further(passages, {CONCEPTS: []})] == ["a", "b"]
