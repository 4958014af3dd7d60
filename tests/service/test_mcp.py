import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.service.asking import embedded
from tests.service.conftest import sharing
from tests.support.mcp import BEFORE, CURRENT, MODES, Target, answer, call, failure, talk
from tests.support.running import Service, environment

TEXT = "# Bees\n\nBees dance to show the way.\n\n" + "".join(
    f"## Year {year}\n\nIn {year} the bees' dance 🐝 was seen again, and “written down” by number {year}.\n\n"
    for year in range(1900, 1930)
)
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": BEFORE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
META = {"io.modelcontextprotocol/protocolVersion": CURRENT, "io.modelcontextprotocol/clientCapabilities": {}}
DISCOVER = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
MODERN = {**HEADERS, "MCP-Protocol-Version": CURRENT, "Mcp-Method": "server/discover"}


def store_nature(graph: Graph, url: str) -> str:
    with httpx.Client(base_url=url, timeout=60) as http:
        embedded(graph, http, TEXT.replace("again", "anew"), document="bees-2.md", ontology="nature-2")
        return embedded(graph, http, TEXT, document="bees.md", ontology="nature")["document_id"]


shared = sharing(store_nature)


@pytest.fixture
def document_id(shared: str) -> str:
    return shared


@pytest.fixture
def target(request: pytest.FixtureRequest, service: Service, server: Neo4jServer, tmp_path: Path) -> Target:
    if request.param == "http":
        return f"{service.url}/mcp"
    env = environment(server, KG_API_URL=service.url, KG_HOME=str(tmp_path / "home"))
    return StdioServerParameters(command=sys.executable, args=["-m", "kg_cli.main", "mcp"], env=env)


def quoted(text: str, citation: str) -> str:
    start, end = map(int, citation.partition("#")[2].split("-"))
    return text[start:end]


@pytest.mark.parametrize(
    ("target", "version"), [("http", CURRENT), ("http", BEFORE), ("stdio", CURRENT)], indirect=["target"]
)
def test_a_session_finds_reads_and_cites(
    target: Target, version: str, document_id: str, kg: KgClient
) -> None:
    text = kg.document(document_id).text

    async def session(client: Client) -> None:
        assert client.protocol_version == version
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search_sources", "get_source_context", "find_similar_sources"} <= listed

        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            return answer(await client.call_tool(tool, arguments))

        ontology, other = (await ask("list_ontologies"))["ontologies"]
        assert (ontology["ontology"], ontology["documents"]) == ("nature", 1)
        assert other["ontology"] == "nature-2"
        (document,) = (await ask("list_documents", ontology="nature"))["documents"]
        assert (document["document"], document["document_id"]) == ("bees.md", document_id)
        found = await ask("search_sources", query="when was the dance seen", ontologies=["nature"], limit=5)
        assert found["degraded"] == []
        for hit in found["hits"]:
            assert hit["text"] == quoted(text, hit["citation"])
            read = await ask("get_source_context", citation=hit["citation"], window=1)
            assert read["quote"]["text"] == hit["text"]
            assert all(each["text"] == quoted(text, each["citation"]) for each in read["paragraphs"])
        assert len(found["hits"]) == 5
        like = await ask("find_similar_sources", citation=found["hits"][0]["citation"], limit=3)
        assert like["source"] == found["hits"][0]["citation"]
        assert {each["document"] for each in like["similar"]} == {"bees-2.md"}
        for each in like["similar"]:
            read = await ask("get_source_context", citation=each["citation"], window=0)
            assert read["quote"]["text"] == each["text"]

    talk(target, session, MODES[version])


def post(http: httpx.Client, body: Any, headers: dict[str, str]) -> httpx.Response:
    content = body if isinstance(body, bytes) else None
    return http.post("/mcp", content=content, json=None if content else body, headers=headers)


BOTH = pytest.mark.parametrize(
    ("body", "headers"), [(DISCOVER, MODERN), (INITIALIZE, HEADERS)], ids=[CURRENT, BEFORE]
)


@BOTH
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"Host": "localhost:8420", "Origin": "http://localhost:8420"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_foreign_hosts_and_origins_are_rejected(
    http: httpx.Client, body: Any, headers: dict[str, str], more: dict[str, str], status: int
) -> None:
    response = post(http, body, {**headers, **more})
    assert response.status_code == status, response.text
    if status == 200:
        assert response.json()["result"]


@pytest.mark.parametrize("headers", [MODERN, HEADERS], ids=[CURRENT, BEFORE])
def test_only_post_is_allowed(http: httpx.Client, headers: dict[str, str]) -> None:
    for method in ("GET", "DELETE", "PUT", "HEAD", "OPTIONS"):
        response = http.request(method, "/mcp", headers={**headers, "Mcp-Session-Id": "x"})
        assert (response.status_code, response.headers["allow"]) == (405, "POST"), method


INVALID: dict[bytes, int | None] = {
    **dict.fromkeys((b"{", b"\xff", b"[" * 100_000), -32700),
    **dict.fromkeys((b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"null", b'{"id":1}')),
}


@pytest.mark.parametrize("headers", [MODERN, HEADERS], ids=[CURRENT, BEFORE])
def test_invalid_message_is_rejected(http: httpx.Client, headers: dict[str, str]) -> None:
    for body, code in INVALID.items():
        response = post(http, body, headers)
        assert response.status_code == 400, response.text
        error = response.json()["error"]
        assert error["code"] == (code or error["code"]) < 0, body
        assert "Traceback" not in response.text


def test_message_over_the_limit_is_rejected(http: httpx.Client) -> None:
    assert post(http, b"x" * 1_100_000, HEADERS).status_code == 413


def test_body_without_json_is_rejected(http: httpx.Client) -> None:
    assert post(http, b"{}", {**HEADERS, "Content-Type": "text/plain"}).status_code in {400, 415}


@pytest.mark.parametrize("wrong", [{"Mcp-Method": "tools/call"}, {"MCP-Protocol-Version": "2025-11-25x"}])
def test_headers_and_body_must_agree(http: httpx.Client, wrong: dict[str, str]) -> None:
    response = post(http, DISCOVER, {**MODERN, **wrong})
    assert response.status_code == 400
    assert response.json()["error"]["code"] in {-32020, -32022}


def hits(result: CallToolResult) -> list[dict[str, Any]]:
    said = result.content[0]
    assert isinstance(said, TextContent)
    return json.loads(said.text)["hits"]


@pytest.fixture
def url(service: Service) -> str:
    return f"{service.url}/mcp"


def test_hits_show_dates_titles_and_no_copies(url: str, http: httpx.Client, graph: Graph) -> None:
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


def test_agents_filter_in_every_search_and_list(url: str, http: httpx.Client, graph: Graph) -> None:
    for year in (2024, 2025):
        about = {"ontology": "o", "metadata": {"date": f"{year}-01-31"}}
        embedded(graph, http, f"The swarm of {year}.", document=f"{year}.md", **about)
    for tool, found in (
        ("search_sources", "hits"),
        ("hybrid_search", "hits"),
        ("list_documents", "documents"),
    ):
        asked = {} if tool == "list_documents" else {"query": "swarm"}
        told = answer(call(url, tool, **asked, where=["date>=2025-01-01"]))
        assert [each["document"] for each in told[found]] == ["2025.md"], tool
        assert len(answer(call(url, tool, **asked))[found]) == 2, tool
        assert "where" in failure(call(url, tool, **asked, where=["date"])), tool
