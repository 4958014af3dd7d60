import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.search import SourceSearch
from kg_api.search.rank import (
    MAX_COMPARED,
    compute_similarities,
    drop_duplicates,
    drop_near_duplicates,
    extend_page,
    limit_per_group,
    order_by_marginal_relevance,
)
from kg_api.search.retrieve import Hit
from tests.unit.search.found import found

scores = st.lists(st.floats(-5, 5), min_size=1, max_size=8)


@given(st.lists(st.sampled_from("abc")), st.integers(1, 3))
def test_group_limit_keeps_the_order(items: list[str], most: int) -> None:
    kept = limit_per_group(enumerate(items), lambda item: item[1], most)
    assert kept == sorted(kept)
    assert Counter(group for _, group in kept) == {g: min(n, most) for g, n in Counter(items).items()}


def test_hit_names_the_copies_of_its_copies() -> None:
    copies: dict[str, tuple[str, ...]] = {"a": (), "b": ("c",)}
    hits = [Hit(found(each, 1.0), each, 1.0, duplicates=names) for each, names in copies.items()]
    places: Any = SimpleNamespace(keep_existing=lambda hits: hits, group_alike=lambda _: [[0, 1]])
    assert [hit.duplicates for hit in drop_duplicates(hits, places)] == [("b", "c")]


def test_chunks_of_a_source_are_no_copies() -> None:
    chunks = [found("a", 1.0, chunk=(at, at + 9)) for at in (0, 9)]
    hits = [Hit(each, f"c{at}", 1.0) for at, each in enumerate([chunks[0], found("b", 1.0), chunks[1]])]
    places: Any = SimpleNamespace(
        keep_existing=lambda hits: hits, group_alike=lambda ids: [[*range(len(ids))]]
    )
    assert [(hit.identity, hit.duplicates) for hit in drop_duplicates(hits, places)] == [
        ("c0", ("b",)),
        ("c2", ("b",)),
    ]


def one_hit(identity: str) -> Hit:
    return Hit(found(identity, 1.0), identity, 1.0)


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ({}, "abcd"),
        ({"per_document": 2}, "ab"),
        ({"collapse_duplicates": True}, "abd"),
        ({"collapse_duplicates": True, "per_document": 2}, "ab"),
    ],
)
def test_deeper_hits_follow_within_the_same_limits(asked: dict[str, Any], page: str) -> None:
    a, b, c, d = map(one_hit, "abcd")
    request = SourceSearch(query_text="x", **asked)
    copies: Any = SimpleNamespace(
        keep_existing=lambda hits: hits,
        group_alike=lambda ids: (
            [[0, *([ids.index("c")] if "c" in ids else [])]]
            + [[at] for at, each in enumerate(ids) if at and each != "c"]
        ),
    )
    assert "".join(hit.identity for hit in extend_page([a], [a, b, c, d], request, copies)) == page


def test_only_the_best_hits_are_compared_for_copies() -> None:
    hits = [one_hit(str(n)) for n in range(MAX_COMPARED + 9)]
    places: Any = SimpleNamespace(
        keep_existing=lambda hits: hits, group_alike=lambda ids: [[at] for at in range(len(ids))]
    )
    for collapse, kept in ((True, MAX_COMPARED), (False, len(hits))):
        request = SourceSearch(query_text="x", collapse_duplicates=collapse)
        assert len(drop_near_duplicates(hits, request, places)) == kept


@given(scores, st.floats(0, 1), st.integers(1, 10))
def test_each_is_chosen_once_and_the_values_fall(
    given_scores: list[float], weight: float, limit: int
) -> None:
    near = np.eye(len(given_scores))
    chosen = order_by_marginal_relevance(given_scores, near, weight, limit)
    assert len({at for at, _ in chosen}) == len(chosen) == min(limit, len(given_scores))
    values = [value for _, value in chosen]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(values))


def test_copy_of_the_first_is_demoted() -> None:
    near = np.array([[1.0, 1.0, 0.1], [1.0, 1.0, 0.1], [0.1, 0.1, 1.0]])
    assert [at for at, _ in order_by_marginal_relevance([0.9, 0.89, 0.7], near, 0.4, 3)] == [0, 2, 1]
    assert [at for at, _ in order_by_marginal_relevance([9.0, 8.9, 7.0], near, 0.4, 3)] == [0, 2, 1]
    assert [at for at, _ in order_by_marginal_relevance([0.7, 0.9, 0.89], near, 1.0, 3)] == [1, 2, 0]


def test_vectors_of_different_models_are_not_compared() -> None:
    one, other = np.array([3.0, 4.0], np.float32), np.array([4.0, 3.0], np.float32)
    near = compute_similarities([one, other, one, None], ["small", "small", "large", "small"])
    assert near[0, 1] == pytest.approx(0.96)
    assert near[0, 2] == near[0, 3] == near[3, 3] == 0
