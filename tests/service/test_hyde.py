"""Searching by hypothetical answers; the language model is a real server of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.service.asking import Json, embedded, problem, search
from tests.support.behaviours import Status
from tests.support.embedders import small_embedder
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import asked, quoting
from tests.support.running import Service

DOCUMENTS = {
    "leases.md": "# Leases\n\nA worker renews its lease every ten seconds.\n",
    "bread.md": "# Bread\n\nBread needs flour, water, salt and time. The dough rests overnight.\n",
}
QUESTION = "How often does a worker renew its lease?"


@pytest.fixture
def web(writing: Service, graph: Graph, writer: EmbeddingServer) -> Iterator[httpx.Client]:
    """Raw HTTP to the service with a language model, on two documents."""
    ensure_space(graph, small_embedder().identity)
    writer.chat, writer.always, writer.pause = quoting, None, 0.0
    with httpx.Client(base_url=writing.url, timeout=60) as client:
        for name, text in DOCUMENTS.items():
            embedded(graph, client, text, document=name, ontology="handbook")
        writer.requests.clear()
        yield client


def test_hypothetical_answers_are_searched_by_too(web: httpx.Client, writer: EmbeddingServer) -> None:
    writer.chat = lambda _: json.dumps({"passages": [{"text": "flour water salt dough rests overnight"}]})
    plain = search(web, "what is it made of", mode="vector")
    told = search(web, "what is it made of", mode="vector", hyde=1)
    assert told["hypothetical"] == ["flour water salt dough rests overnight"]
    assert told["sources"][0]["document"] == "bread.md"
    assert told["sources"][0]["similarity"] > plain["sources"][0]["similarity"]
    assert "hyde" in told["timings_ms"]
    assert plain["hypothetical"] == []
    assert "hyde" not in plain["timings_ms"]
    assert told["degraded"] == []


def test_auto_is_for_long_questions(web: httpx.Client, writer: EmbeddingServer) -> None:
    search(web, "a short question", hyde="auto")
    assert writer.requests == []
    search(web, " ".join(f"word{n}" for n in range(12)), hyde="auto")
    assert [asked(each)["passages"] for each in writer.requests] == [3]


def test_without_hypothetical_answers_the_search_goes_on_and_says_so(
    web: httpx.Client, writer: EmbeddingServer, http: httpx.Client
) -> None:
    writer.chat = lambda _: "I cannot."
    for found in (search(web, QUESTION, hyde=2), search(http, QUESTION, hyde=2)):
        assert found["sources"][0]["document"] == "leases.md"
        (told,) = found["degraded"]
        assert told["part"] == "hyde"
        assert "KG_LLM__MODEL" in told["effect"]
    writer.always = Status(503)
    assert search(web, QUESTION, hyde=2)["degraded"][0]["part"] == "hyde"
    asked_once = len(writer.requests)
    assert search(web, QUESTION, hyde=2)["degraded"][0]["part"] == "hyde"
    assert len(writer.requests) == asked_once, "it is left alone for a moment"


@pytest.mark.parametrize(
    "body",
    [
        {"query_text": "a", "hyde": 6},
        {"query_text": "a", "hyde": True},
        {"query_text": "a", "hyde": "often"},
        {"query_text": "a", "hyde": 1, "mode": "text"},
        {"query_text": "a", "query_vector": [1.0], "space": "default", "hyde": 1},
    ],
)
def test_hyde_where_it_cannot_be_is_refused(web: httpx.Client, body: Json) -> None:
    problem(web.post("/queries/sources/search", json=body), 422)
