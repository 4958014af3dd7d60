"""The search service with a database that gives canned rows: what happens while indexes are filled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kg_api.errors import Conflict, InvalidInput, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.names import MAX_SCOPES
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.schemas.spaces import ModelChoice
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import snapshots_of
from tests.support.unavailable import UnavailableEmbedder
from tests.unit.search.canned import LARGE, POPULATING, SMALL, CannedGraph


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
    with pytest.raises(Unavailable, match="try again"):
        searched(CannedGraph(**states), **asked)


def test_an_index_that_failed_or_is_not_there_is_like_one_that_is_filled() -> None:
    graph = CannedGraph(passage_embedding=("FAILED", 0.0))
    assert "failed, 0 %" in searched(graph).degraded[0].effect
    del graph.states["passage_embedding"]
    assert "not there" in searched(graph).degraded[0].effect


def test_the_watch_asks_the_database_only_now_and_then() -> None:
    graph = CannedGraph(source_words=POPULATING)
    watch = snapshots_of(graph)
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
        "full text: the first 64 words were used, 6 were left out"
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
    watch = snapshots_of(graph)
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
    watch = snapshots_of(graph)
    watch.known()
    watch.known(["o0"])
    assert graph.times("spaces/all") == 1
    watch.known(["made just now"])
    assert graph.times("spaces/all") == 2


def test_passages_are_not_counted_for_each_search_that_reads_the_ontologies_anew() -> None:
    graph = CannedGraph()
    watch = snapshots_of(graph)
    for _ in range(3):
        watch.known(fresh=True).crowd(None)
    assert (graph.times("spaces/all"), graph.times("search/count_passages")) == (3, 1)


def test_a_vector_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has 3 dimensions; the space 'default' has 256"):
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
    assert lanes["large"]["property"] == "embedding_large"
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
    assert [each.effect[:50] for each in told] == ["o1: embedding is under way (3 of 9 sources); what "]
    assert len(searched(graph, mode="vector").degraded) == 2
    assert searched(graph).degraded == [], "words tell it by what they find"
