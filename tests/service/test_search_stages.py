"""Search beyond the lanes: fusion, explanation, diversity, duplicates, exact mode, windows."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kg_api.graph.client import Graph
from tests.service.asking import search
from tests.service.test_search import FRUIT, store

PARAGRAPHS = [f"Passage {n} about apples and the number {n * 7}." for n in range(30)]
COPY = "The committee met on Monday and decided that the green apples are to be sold before winter comes."


def store_all(graph: Graph, ontology: str, documents: dict[str, list[str]]) -> None:
    for name, paragraphs in documents.items():
        store(graph, name, paragraphs, ontology)


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["source_id"] for hit in answer["sources"]]


@pytest.fixture
def fruit(graph: Graph) -> None:
    store(graph, "a.md", FRUIT, "fruit")


@pytest.mark.parametrize("fusion", ["adaptive", "rrf", "weighted"])
@pytest.mark.usefixtures("fruit")
def test_an_explanation_adds_up_to_the_score(http: httpx.Client, fusion: str) -> None:
    answer = search(http, "green apples in a jar", fusion=fusion, explain=True)
    for number, hit in enumerate(answer["sources"], start=1):
        told = hit["explanation"]
        assert told["fusion"] == fusion
        assert sum(part["contribution"] for part in told["lanes"]) == pytest.approx(hit["score"])
        assert told["fused_rank"] == number
        by_lane = {part["lane"]: part for part in told["lanes"]}
        assert {part["index"] for part in told["lanes"]} <= {"source_words", "passage_embedding"}
        assert by_lane.get("text", {"rank": None})["rank"] == hit["ranks"]["text"]
    assert {"embed", "retrieve", "fuse", "tell", "total"} <= answer["timings_ms"].keys()


@pytest.mark.usefixtures("fruit")
def test_without_being_asked_nothing_is_explained(http: httpx.Client) -> None:
    assert {hit["explanation"] is None for hit in search(http, "apples")["sources"]} == {True}


@pytest.mark.usefixtures("fruit")
def test_exact_and_approximate_find_the_same_in_all_scopes(http: httpx.Client) -> None:
    for scope in ({}, {"ontology": "fruit"}, {"ontology": "fruit", "documents": ["a.md"]}):
        approximate, exact = (
            search(http, "green apples", mode="vector", exact=each, explain=True, **scope)
            for each in (False, True)
        )
        assert ids(exact) == ids(approximate)
        assert {part["index"] for hit in exact["sources"] for part in hit["explanation"]["lanes"]} == {
            "exact"
        }


def test_at_most_so_many_of_a_document_and_the_answer_is_as_long_as_before(
    http: httpx.Client, graph: Graph
) -> None:
    store_all(
        graph, "many", {"long.md": PARAGRAPHS, **{f"{n}.md": [f"Apples once more, {n}."] for n in range(5)}}
    )
    answer = search(http, "passage about apples", ontology="many", limit=6, per_document=1)
    assert len(answer["sources"]) == 6
    assert len({hit["document"] for hit in answer["sources"]}) == 6


def test_what_says_almost_the_same_is_given_once_and_named(http: httpx.Client, graph: Graph) -> None:
    copies = {"a.md": [COPY], "b.md": [COPY.upper()], "c.md": ["Pears are another matter altogether."]}
    store_all(graph, "copies", copies)
    both = search(http, "the committee decided to sell apples", ontology="copies", limit=3)
    once = search(
        http, "the committee decided to sell apples", ontology="copies", limit=3, collapse_duplicates=True
    )
    assert len(both["sources"]) == 3
    assert len(once["sources"]) == 2
    (first, second) = once["sources"]
    told = [first["source_id"], *first["duplicates"]] if first["duplicates"] else [second["source_id"]]
    copied = {hit["source_id"] for hit in both["sources"] if "committee" in hit["full_text"].lower()}
    assert set(told) == copied


def test_diversity_puts_a_copy_behind_something_else(http: httpx.Client, graph: Graph) -> None:
    store_all(
        graph, "mixed", {"a.md": [COPY], "b.md": [COPY + " "], "c.md": ["Green apples keep until March."]}
    )
    plain = search(http, COPY, ontology="mixed", mode="vector")
    mixed = search(http, COPY, ontology="mixed", mode="vector", mmr_lambda=0.3, explain=True)
    assert [hit["document"] for hit in plain["sources"]][2] == "c.md"
    assert [hit["document"] for hit in mixed["sources"]][1] == "c.md"
    assert [hit["explanation"]["mmr_rank"] for hit in mixed["sources"]] == [1, 2, 3]


@pytest.mark.usefixtures("fruit")
def test_without_a_reranker_the_fused_order_stands_and_it_is_said(http: httpx.Client) -> None:
    plain, asked = search(http, "green apples"), search(http, "green apples", rerank=True)
    assert ids(plain) == ids(asked)
    assert [each["part"] for each in asked["degraded"]] == ["rerank"]


def test_windows_are_merged_and_keep_to_the_budget(http: httpx.Client, graph: Graph) -> None:
    store(graph, "long.md", PARAGRAPHS, "long")
    asked = {"ontology": "long", "limit": 4, "expand_context": True, "window_size": 2}
    whole = search(http, "passage 11 about apples", **asked)
    assert whole["windows"]
    text = {hit["source_id"]: hit["full_text"] for hit in whole["sources"]}
    for window in whole["windows"]:
        assert len(window["text"]) == window["end"] - window["start"]
        assert all(text[each] in window["text"] for each in window["hits"])
    small = search(http, "passage 11 about apples", **asked, token_budget=12)
    assert sum(each["tokens"] for each in small["windows"]) <= 12
    assert "windows" in [each["part"] for each in small["degraded"]]


@pytest.mark.usefixtures("fruit")
def test_each_chunk_is_a_hit_where_chunks_are_asked_for(http: httpx.Client) -> None:
    by_source, by_chunk = (
        search(http, "green apples", mode="vector", group_by=each, limit=50) for each in ("source", "chunk")
    )
    assert len(by_chunk["sources"]) >= len(by_source["sources"])


@pytest.mark.parametrize(
    "wrong",
    [{"fusion": "max"}, {"mmr_lambda": 2}, {"per_document": 0}, {"first_stage_limit": 500}, {"rrf_k": 0}],
)
def test_wrong_values_are_refused_by_name(http: httpx.Client, wrong: dict[str, Any]) -> None:
    answer = http.post("/queries/sources/search", json={"query_text": "x", **wrong})
    assert answer.status_code == 422
    assert next(iter(wrong)) in answer.text
