from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from kg_api.graph.client import Graph
from kg_api.graph.search import REMEMBERED_SECONDS
from tests.neo4j_server import Neo4jServer
from tests.service.asking import embedded
from tests.service.conftest import sharing
from tests.support.cypher import rows
from tests.support.mcp import Target, answer, call, failure, talk
from tests.support.running import Service, environment

TEXT = "# Bees\n\nBees dance to show the way.\n\n" + "".join(
    f"## Year {year}\n\nIn {year} the bees' dance 🐝 was seen again, by number {year}.\n\n"
    for year in range(1900, 1930)
)


def store_nature(graph: Graph, url: str) -> str:
    with httpx.Client(base_url=url, timeout=60) as http:
        return embedded(graph, http, TEXT, document="bees.md", ontology="nature")["document_id"]


shared = sharing(store_nature)


@pytest.fixture
def document_id(shared: str) -> str:
    return shared


@pytest.fixture(params=["http", pytest.param("stdio", marks=pytest.mark.full)])
def target(request: pytest.FixtureRequest, service: Service, server: Neo4jServer, tmp_path: Path) -> Target:
    if request.param == "http":
        return f"{service.url}/mcp"
    env = environment(server, KG_API_URL=service.url, KG_HOME=str(tmp_path / "home"))
    return StdioServerParameters(command=sys.executable, args=["-m", "kg_cli.main", "mcp"], env=env)


def test_a_listed_document_is_read_to_its_end(target: Target, document_id: str) -> None:
    listed = answer(call(target, "list_documents", ontology="nature"))["documents"][0]

    async def doing(client: Client) -> list[dict[str, Any]]:
        asked = {"document": listed["document"], "ontology": listed["ontology"]}
        steps = [answer(await client.call_tool("read_document", {**asked, "token_budget": 800}))]
        while more := steps[-1].get("more"):
            given = {**asked, "token_budget": 800, "cursor": more["cursor"]}
            steps.append(answer(await client.call_tool("read_document", given)))
        return steps

    steps = talk(target, doing)
    assert len(steps) > 2
    assert "".join(each["text"] for step in steps for each in step["paragraphs"]) == TEXT
    assert {step["document_id"] for step in steps} == {document_id}


def test_reading_starts_at_citation_and_detects_changes(
    service: Service, http: httpx.Client, graph: Graph, document_id: str
) -> None:
    url = f"{service.url}/mcp"
    hit = answer(call(url, "search_sources", query="dance number 1905", ontologies=["nature"]))["hits"][0]
    begun = answer(call(url, "read_document", document=hit["citation"], token_budget=1000))
    assert begun["paragraphs"][0]["citation"] == hit["citation"]
    third = answer(call(url, "read_document", document="nature/bees.md#3"))["paragraphs"][0]
    assert third["paragraph"] == 3
    told = failure(call(url, "read_document", document="bes.md"))
    assert "document 'bes.md' not found" in told
    assert "bees.md" in told
    first = answer(call(url, "read_document", document=document_id, token_budget=1000))
    embedded(graph, http, "New.\n\n" + "Changed. " * 900, document="bees.md", ontology="nature")
    asked = {"document": document_id, "token_budget": 1000, "cursor": first["more"]["cursor"]}
    assert "has changed" in failure(call(url, "read_document", **asked))


def test_agents_see_ocr_confidence(service: Service, driver: neo4j.Driver, document_id: str) -> None:
    url = f"{service.url}/mcp"
    first = answer(call(url, "read_document", document=document_id))["paragraphs"][0]
    assert "ocr_confidence" not in first
    rows(driver, "MATCH (s:Source) SET s.ocr_confidence = 0.75")
    read = answer(call(url, "read_document", document=document_id))["paragraphs"][0]
    similar = answer(call(url, "find_similar_sources", citation=first["citation"], same_document=True))
    assert {each["ocr_confidence"] for each in (read, *similar["similar"])} == {0.75}


def test_hits_show_dates_titles_and_no_copies(service: Service, http: httpx.Client, graph: Graph) -> None:
    url = f"{service.url}/mcp"
    about = {"title": "Minutes", "metadata": {"date": "2025-01-31"}, "ontology": "o"}
    text = "The swarm was caught by the old oak behind the barn on the second of May in the rain. " * 4
    for name in ("a.md", "b.md"):
        embedded(graph, http, text, document=name, **about)
    listed = answer(call(url, "list_documents"))["documents"]
    assert [(each["title"], each["date"]) for each in listed] == [("Minutes", "2025-01-31")] * 2
    (hit,) = answer(call(url, "search_sources", query="swarm"))["hits"]
    assert (hit["title"], hit["date"], len(hit["duplicates"])) == ("Minutes", "2025-01-31", 1)
    assert len(answer(call(url, "search_sources", query="swarm", all_copies=True))["hits"]) == 2
    assert len(answer(call(url, "hybrid_search", query="swarm"))["hits"]) == 1


def test_agents_filter_in_every_search_and_list(target: Target, http: httpx.Client, graph: Graph) -> None:
    for year in (2024, 2025):
        about = {"ontology": "o", "metadata": {"date": f"{year}-01-31"}}
        embedded(graph, http, f"The swarm of {year}.", document=f"{year}.md", **about)
    for tool, found in (
        ("search_sources", "hits"),
        ("hybrid_search", "hits"),
        ("list_documents", "documents"),
    ):
        asked = {} if tool == "list_documents" else {"query": "swarm"}
        told = answer(call(target, tool, **asked, where=["date>=2025-01-01"]))
        assert [each["document"] for each in told[found]] == ["2025.md"], tool
        assert len(answer(call(target, tool, **asked))[found]) == 2, tool
        assert "where" in failure(call(target, tool, **asked, where=["date"])), tool


def test_agent_is_notified_without_relevant_results(
    service: Service, driver: neo4j.Driver, document_id: str
) -> None:
    assert document_id
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.related = 0.3, e.unrelated = 0.05")
    time.sleep(REMEMBERED_SECONDS + 0.1)  # what a search of the test before read of the model
    asked = {"query": "quantum chromodynamics of gluons and quarks"}
    told = answer(call(f"{service.url}/mcp", "search_sources", **asked))
    assert told["note"].startswith("no close match")
    told = answer(call(f"{service.url}/mcp", "hybrid_search", **asked))
    assert told["notes"][0].startswith("no close match")
    assert "note" not in answer(call(f"{service.url}/mcp", "search_sources", query="bees dance"))
