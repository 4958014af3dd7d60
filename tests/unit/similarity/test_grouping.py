from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from kg_api.graph.similar import NearSource, SimilarityQuery, VectorPart
from kg_api.schemas.search import Place
from kg_api.schemas.similarity import GraphRequest, SimilarSearch
from kg_api.search.near import each_once, group_duplicates, to_matched_chunk
from kg_api.search.similar import evenly
from tests.unit.search.found import place

LONG = "The lease of a job is renewed while its worker lives, and taken over when it no longer is"


def near(
    identity: str,
    similarity: float,
    text: str | None = None,
    covers: tuple[str, ...] = (),
    parent: str | None = None,
) -> NearSource:
    where: Place = place(identity, text or f"about {identity} and nothing else")
    return NearSource(0, 0, where, similarity, None, covers or (identity,), parent)


def ids(found: list[NearSource]) -> list[str]:
    return [each.place.source_id for each in found]


def test_each_source_and_each_parent_comes_once_with_its_nearest_passage() -> None:
    found = [near("a", 0.9, parent="p"), near("a", 0.8), near("b", 0.7, parent="p"), near("c", 0.6)]
    once = list(each_once(found, "own", None))
    assert [(each.place.source_id, each.similarity) for each in once] == [("a", 0.9), ("c", 0.6)]


def test_the_source_itself_and_chunks_that_hold_it_are_left_out() -> None:
    found = [near("own", 1.0), near("a", 0.9, covers=("a", "own")), near("a", 0.8)]
    assert [each.similarity for each in each_once(found, "own", None)] == [0.8]


def test_less_similar_ones_are_left_out() -> None:
    assert ids(list(each_once([near("a", 0.9), near("b", 0.5)], "own", 0.6))) == ["a"]


def test_near_duplicates_stand_together_under_the_nearest() -> None:
    found = [near("a", 0.9, LONG), near("b", 0.8), near("c", 0.7, LONG.upper()), near("d", 0.6, LONG + "!")]
    groups = group_duplicates(place("own", "something else"), found, together=True)
    assert [each.first.place.source_id for each in groups] == ["a", "b"]
    assert [[each.source_id for each in group.duplicates] for group in groups] == [["c", "d"], []]
    assert [each.similarity for each in groups[0].duplicates] == [0.7, 0.6]
    assert not any(group.near_duplicate for group in groups)
    apart = group_duplicates(place("own", "something else"), found, together=False)
    assert [(each.first.place.source_id, each.others) for each in apart] == [(n, []) for n in "abcd"]


@pytest.mark.parametrize("together", [True, False])
def test_copies_of_the_source_asked_for_are_marked(together: bool) -> None:
    found = [near("a", 0.9), near("b", 0.8, LONG), near("c", 0.7, LONG)]
    groups = group_duplicates(place("own", LONG), found, together=together)
    assert [group.near_duplicate for group in groups] == ([False, True] if together else [False, True, True])
    assert group_duplicates(place("own"), [], together=together) == []


def test_a_document_is_left_out_by_asking_before_and_behind_it() -> None:
    parts = [VectorPart(np.ones(2, dtype=np.float32))] * 2
    rows = SimilarityQuery(place("own"), parts).rows(7)
    assert [(row["source"], row["part"], row["after"], row["before"]) for row in rows] == [
        (7, 0, "", "d"),
        (7, 0, "d", "~"),
        (7, 1, "", "d"),
        (7, 1, "d", "~"),
    ]
    assert len(SimilarityQuery(place("own"), parts, same_document=True).rows(0)) == 2


def test_of_very_many_parts_an_even_sample_is_compared() -> None:
    parts = [VectorPart(np.zeros(1, dtype=np.float32), str(number)) for number in range(100)]
    assert [part.chunk_id for part in evenly(parts, 4)] == ["0", "33", "66", "99"]
    assert evenly(parts[:4], 4) == parts[:4]


def test_a_part_has_no_blanks_around_it_and_a_chunk_that_has_gone_is_its_source() -> None:
    where = place("a", "  one\n")
    assert to_matched_chunk(where, "gone", {}) == to_matched_chunk(where)
    assert (to_matched_chunk(where).text, to_matched_chunk(where).start, to_matched_chunk(where).end) == (
        "one",
        102,
        105,
    )


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (SimilarSearch, {"limit": 0}),
        (SimilarSearch, {"min_similarity": 2}),
        (SimilarSearch, {"same_document": "yes"}),
        (SimilarSearch, {"ontology": []}),
        (SimilarSearch, {"unknown": 1}),
        (GraphRequest, {"neighbours": 51}),
        (GraphRequest, {"max_nodes": 5001}),
        (GraphRequest, {"source_ids": []}),
        (GraphRequest, {"source_ids": ["a"], "documents": ["d"]}),
    ],
)
def test_what_cannot_be_asked_is_refused(
    model: type[SimilarSearch | GraphRequest], body: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(body)
