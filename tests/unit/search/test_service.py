"""The search service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import Conflict, InvalidInput, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.names import MAX_SCOPES
from kg_api.graph.search import ChunkText, FoundChunk, LaneHit
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.schemas.spaces import ModelChoice
from kg_api.search.present import present_hits
from kg_api.search.retrieve import find_needed_texts
from kg_api.search.scope import Scope
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import get_snapshots
from tests.support.unavailable import UnavailableEmbedder
from tests.unit.search.canned import LARGE, POPULATING, SMALL, CannedGraph
from tests.unit.search.found import SAID, START, found, hits, lanes, place, plan, ranked, source


def searched(graph: Graph, embedder: Embedder | None = None, **asked: Any) -> SourceHits:
    def open_model(choice: ModelChoice | None) -> Embedder:
        return LARGE if choice else embedder or SMALL

    service = SearchService(graph, SpaceRegistry(graph, open_model))
    try:
        return service.search(SourceSearch.model_validate({"query_text": "two words", **asked}))
    finally:
        service.close()


def ids(answer: SourceHits) -> list[str]:
    return sorted(hit.source_id for hit in answer.sources)


def parts(answer: SourceHits) -> list[str]:
    return [each.part for each in answer.degraded]


def test_both_lanes_are_asked_once_and_nothing_is_degraded() -> None:
    graph = CannedGraph()
    answer = searched(graph)
    assert (answer.mode, ids(answer), parts(answer)) == ("hybrid", ["by text", "by vector"], [])
    assert graph.times("search/by_vector") == graph.times("search/by_text") == 1
    assert graph.times("similar/by_ids") == 1, "what is shown is read once"


@pytest.mark.parametrize("asked", [{}, {"collapse_duplicates": True}, {"limit": 1}])
def test_what_was_deleted_since_it_was_found_takes_no_place(asked: dict[str, Any]) -> None:
    graph = CannedGraph()
    graph.gone = {"by text"}
    assert ids(searched(graph, **asked)) == ["by vector"]


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_while_the_vector_index_is_filled_full_text_answers_and_it_is_said(mode: str) -> None:
    graph = CannedGraph(passage_embedding=POPULATING)
    answer = searched(graph, mode=mode)
    assert (answer.mode, ids(answer), parts(answer)) == ("text", ["by text"], ["vector_index"])
    assert "populating, 40 % populated" in answer.degraded[0].effect
    assert graph.times("search/by_vector") == 0


def test_while_the_text_index_is_filled_vectors_answer_and_it_is_said() -> None:
    answer = searched(CannedGraph(source_words=POPULATING))
    assert (answer.mode, ids(answer), parts(answer)) == ("vector", ["by vector"], ["text_index"])


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        ({"source_words": POPULATING, "passage_embedding": POPULATING}, {}),
        ({"source_words": POPULATING}, {"mode": "text"}),
        (
            {"passage_embedding": POPULATING},
            {"query_text": None, "query_vector": [1.0] * 256, "space": "default", "mode": "vector"},
        ),
    ],
)
def test_when_no_lane_can_answer_it_is_an_error_and_not_an_empty_list(
    states: dict[str, Any], asked: dict[str, Any]
) -> None:
    with pytest.raises(Unavailable, match="Try again"):
        searched(CannedGraph(**states), **asked)


def test_an_index_that_failed_or_is_not_there_is_like_one_that_is_filled() -> None:
    graph = CannedGraph(passage_embedding=("FAILED", 0.0))
    assert "failed, 0 %" in searched(graph).degraded[0].effect
    del graph.states["passage_embedding"]
    assert "not there" in searched(graph).degraded[0].effect


def test_the_watch_asks_the_database_only_now_and_then() -> None:
    graph = CannedGraph(source_words=POPULATING)
    watch = get_snapshots(graph)
    assert [watch.populating("source_words") for _ in range(5)] == [
        {"source_words": "populating, 40 % populated"}
    ] * 5
    assert watch.populating("passage_embedding") == {}
    assert graph.times("indexes/states") == 1
    graph.states["source_words"] = ("ONLINE", 100.0)
    watch._indexes._seconds = -1.0
    assert watch.populating("source_words") == {}


@pytest.mark.parametrize("least", [None, 0.99])
def test_without_a_model_words_answer_whatever_the_least_similarity(least: float | None) -> None:
    answer = searched(CannedGraph(), UnavailableEmbedder("no model"), min_similarity=least)
    assert (answer.mode, answer.space, ids(answer)) == ("text", None, ["by text"])
    assert ("min_similarity was not applied" in answer.degraded[0].effect) == (least is not None)


def test_a_least_similarity_leaves_out_what_a_lane_found() -> None:
    assert ids(searched(CannedGraph(), min_similarity=0.5)) == ["by vector"]


def test_words_left_out_are_counted() -> None:
    answer = searched(CannedGraph(), query_text=" ".join(f"w{n}" for n in range(70)), mode="text")
    assert [each.effect for each in answer.degraded] == [
        "full text: kg used the first 64 words and ignored 6"
    ]


def test_a_question_without_words_is_told_and_the_text_lane_is_not_asked() -> None:
    graph = CannedGraph()
    answer = searched(graph, query_text="?!")
    assert (parts(answer), ids(answer), graph.times("search/by_text")) == (["query"], ["by vector"], 0)


def test_the_clients_vector_in_mode_text_gives_only_similarities() -> None:
    graph = CannedGraph()
    answer = searched(graph, query_vector=[1.0] * 256, space="default", mode="text")
    assert (answer.mode, graph.times("search/by_vector")) == ("text", 0)
    (parameters,) = [given for name, given in graph.asked if name == "search/by_text"]
    assert list(parameters["vectors"]) == ["default"]


@pytest.mark.parametrize("values", [[1.0] * 256, [3e38] * 256, [1e308] * 256, [5e-324] * 256])
def test_a_vector_of_any_scale_is_a_direction(values: list[float]) -> None:
    graph = CannedGraph()
    searched(graph, query_vector=values, space="default", mode="vector")
    (parameters,) = [given for name, given in graph.asked if name == "search/by_vector"]
    np.testing.assert_allclose(parameters["vector"].to_native(), [1 / 16] * 256, rtol=1e-6)


@pytest.mark.parametrize(("passages", "candidates"), [(0, 50), (62_500, 50), (1_000_000, 200), (10**9, 1000)])
def test_the_more_passages_there_are_the_more_candidates_the_index_is_asked_for(
    passages: int, candidates: int
) -> None:
    graph = CannedGraph()
    graph.passages = passages
    searched(graph, mode="vector")
    (asked,) = [given for name, given in graph.asked if name == "search/by_vector"]
    assert (asked["candidates"], asked["limit"]) == (candidates, 50)


def test_ontologies_are_read_anew_only_where_one_was_made_since() -> None:
    graph = CannedGraph()
    watch = get_snapshots(graph)
    for _ in range(3):
        watch.known(new_too=True)
    assert (graph.times("spaces/all"), graph.times("ontologies/count")) == (1, 2)
    graph.ontologies_more = 1
    watch.known()
    assert graph.times("spaces/all") == 1
    watch.known(new_too=True)
    assert graph.times("spaces/all") == 2


def test_one_that_is_named_and_not_known_is_looked_for_again() -> None:
    graph = CannedGraph()
    watch = get_snapshots(graph)
    watch.known()
    watch.known(["o0"])
    assert graph.times("spaces/all") == 1
    watch.known(["made just now"])
    assert graph.times("spaces/all") == 2


def test_passages_are_not_counted_for_each_search_that_reads_the_ontologies_anew() -> None:
    graph = CannedGraph()
    watch = get_snapshots(graph)
    for _ in range(3):
        watch.known(fresh=True).crowd(None)
    assert (graph.times("spaces/all"), graph.times("search/count_passages")) == (3, 1)


def test_a_vector_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has 3 dimensions, but the space 'default' has 256"):
        searched(CannedGraph(), query_vector=[1.0] * 3, space="default")
    with pytest.raises(Conflict, match="cannot be compared"):
        searched(CannedGraph(), query_vector=[1.0] * 256, space="other")


def test_more_documents_than_one_search_can_take_are_refused() -> None:
    names = [f"d{n}" for n in range(MAX_SCOPES // 6 + 1)]
    with pytest.raises(InvalidInput, match="more than 5,000 documents"):
        searched(CannedGraph(), documents=names)
    assert parts(searched(CannedGraph(), documents=names[:-1], mode="text")) == []


def test_very_many_documents_are_filtered_by_behind_the_words() -> None:
    graph = CannedGraph()
    ids = [f"{n:032x}" for n in range(600)]
    answer = searched(graph, documents=ids, mode="text", ontology=["o0"])
    (given,) = (given for name, given in graph.asked if name == "search/by_text")
    assert set(given["document_ids"]) >= set(ids)
    assert len(answer.sources) == 1


def test_ontologies_of_two_spaces_are_searched_once_in_each_with_a_vector_of_its_size() -> None:
    graph = CannedGraph()
    graph.further = "large"
    answer = searched(graph)
    lanes = {given["in"]: given for name, given in graph.asked if name == "search/by_vector_in_ontologies"}
    assert {slug: len(given["vector"].to_native()) for slug, given in lanes.items()} == {
        "default": 256,
        "large": 512,
    }
    assert lanes["large"]["ontologies"] == ["o5"]
    assert (answer.space, answer.spaces, parts(answer)) == (None, ["default", "large"], [])


def test_only_the_space_of_what_is_asked_for_is_used() -> None:
    graph = CannedGraph()
    graph.further = "large"
    assert searched(graph, ontology="o5").space == "large"
    assert searched(graph, ontology=["o1", "o2"]).space == "default"


def test_a_clients_vector_searches_its_space_and_tells_what_it_left_out() -> None:
    graph = CannedGraph()
    graph.further = "large"
    answer = searched(graph, query_text=None, query_vector=[1.0] * 512, space="large", mode="vector")
    assert answer.spaces == ["large"]
    assert "o0, o1" in answer.degraded[0].effect


def test_one_space_that_is_away_leaves_the_others_in_place() -> None:
    graph = CannedGraph()
    graph.further = "large"
    answer = searched(graph, UnavailableEmbedder("no model"), min_similarity=0.5)
    assert (answer.mode, answer.space) == ("hybrid", "large")
    assert "in the space 'default' (no model)" in answer.degraded[0].effect


def test_one_least_similarity_for_two_models_is_told() -> None:
    graph = CannedGraph()
    graph.further = "large"
    assert "2 spaces alike" in searched(graph, min_similarity=0.1).degraded[0].effect


def test_by_vectors_alone_it_is_told_that_not_all_is_embedded() -> None:
    graph = CannedGraph()
    graph.unfinished = [{"ontology": "o1", "done": 3, "total": 9}, {"ontology": "o2", "done": 0, "total": 1}]
    told = searched(graph, mode="vector", ontology="o1").degraded
    assert [each.effect[:50] for each in told] == ["o1: embedding is in progress (3 of 9 sources). Vec"]
    assert len(searched(graph, mode="vector").degraded) == 2
    assert searched(graph).degraded == [], "words tell it by what they find"


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


def test_an_ontology_that_has_just_come_answers_by_the_space_of_new_ones() -> None:
    """For a second a search may not know of it, and finds its passages all the same."""
    best = ranked(lanes(vectors={"default": [found("a", 0.9, 0.9)]}), 1)
    unaware = replace(plan(), scope=Scope([], {}, []))
    (hit,) = present_hits(unaware, best, {"a": place("a")}, {})
    assert (hit.similarity, hit.space) == (0.9, "default")
