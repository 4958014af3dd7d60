from collections.abc import Generator
from contextlib import contextmanager

import httpx
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.conftest import Stored
from tests.service.asking import SEARCH, Json, problem, search
from tests.support.embedding import run_jobs
from tests.support.records import record

DOCUMENTS, EACH = 12, 20
ALL = DOCUMENTS * EACH


@contextmanager
def store_apples(graph: Graph) -> Generator[Graph]:
    """Store more passages than you can read in a page of hits."""
    for at in range(DOCUMENTS):
        texts = [f"Apples number {at}-{each} are {'red ' * (each % 5)}and good." for each in range(EACH)]
        store_document(graph, record(f"d{at}", texts))
    run_jobs(graph)
    yield graph


@pytest.fixture(autouse=True)
def shared(stored: Stored, migrated_graph: Graph) -> Graph:
    return stored.give(store_apples, migrated_graph)


def walk(http: httpx.Client, asked: Json, path: str = SEARCH) -> list[Json]:
    pages: list[Json] = []
    cursor = None
    while not pages or cursor:
        body = {"query_text": "red apples", **asked, **({"cursor": cursor} if cursor else {})}
        response = http.post(path, json=body)
        assert response.status_code == 200, response.text
        pages.append(response.json())
        cursor = pages[-1]["next_cursor"]
    return pages


def ids(pages: list[Json]) -> list[str]:
    return [hit["source_id"] for page in pages for hit in page["sources"]]


WALKS: list[tuple[Json, int]] = [
    ({"mode": "hybrid"}, ALL),
    ({"mode": "vector"}, ALL),
    ({"mode": "text", "limit": 100}, ALL),
    ({"documents": ["d1", "d2", "d3"]}, 3 * EACH),
    ({"where": ["title!=d1"]}, ALL - EACH),
    ({"per_document": 3}, 3 * DOCUMENTS),
    ({"mmr_lambda": 0.5, "first_stage_limit": 50}, ALL),
    ({"rerank": True}, ALL),
    ({"exact": True, "mode": "vector"}, ALL),
    ({"group_by": "chunk"}, ALL),
    ({"concepts": True}, ALL),
]


def test_pages_return_each_hit_once(http: httpx.Client) -> None:
    for given, expected in WALKS:
        asked = {"limit": 40, **given}
        pages = walk(http, asked)
        found = ids(pages)
        assert len(found) == len(set(found)) == expected, given
        assert all(len(page["sources"]) == asked["limit"] for page in pages[:-2]), given
        assert search(http, "red apples", **asked)["sources"] == pages[0]["sources"], given
        assert not [each for page in pages for each in page["degraded"] if each["part"] == "query"], given


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_paging_ends_at_the_similarity_threshold(http: httpx.Client, mode: str) -> None:
    empty = search(http, "red apples", mode=mode, min_similarity=1)
    assert (empty["sources"], empty["next_cursor"]) == ([], None)
    near = [hit["similarity"] for hit in search(http, "red apples", mode="vector", limit=30)["sources"]]
    pages = walk(http, {"mode": mode, "limit": 20, "min_similarity": near[-1] - 1e-6})
    assert len(ids(pages)) == len(set(ids(pages))) >= len(near)
    assert [page["degraded"] for page in pages] == [[]] * len(pages), "a lane reached what is too far away"


def test_hybrid_pages_sources_after_concepts(http: httpx.Client) -> None:
    pages = walk(http, {"source_limit": 100}, "/queries/hybrid")
    assert len(ids(pages)) == len(set(ids(pages))) == ALL
    assert all(page["concepts"] == [] for page in pages[1:])


def test_document_added_between_pages_repeats_no_hit(http: httpx.Client, graph: Graph) -> None:
    first = search(http, "red apples", limit=30)
    store_document(graph, record("new", ["red apples, red apples", "red apples again"]))
    run_jobs(graph)
    second = search(http, "red apples", limit=30, cursor=first["next_cursor"])
    assert not set(ids([first])) & set(ids([second]))
    assert "new" in {hit["document"] for hit in second["sources"]}


def test_invalid_cursor_is_rejected(http: httpx.Client) -> None:
    cursor = search(http, "red apples")["next_cursor"]
    assert search(http, "no such wordling", mode="text")["next_cursor"] is None
    for body in (
        {"query_text": "red apples", "cursor": cursor[:-1]},
        {"query_text": "red apples", "cursor": ""},
        {"query_text": "other", "cursor": cursor},
        {"query_text": "red apples", "cursor": cursor, "hyde": 1},
    ):
        answer = http.post(SEARCH, json=body)
        assert answer.status_code == 422
        assert "cursor" in answer.text
    assert problem(http.post(SEARCH, json={"query_text": "other", "cursor": cursor}), 422)
