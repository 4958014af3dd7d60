from collections.abc import Sequence
from typing import Any

import httpx
import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs

SEARCH = "/queries/sources/search"
PROBLEM = "application/problem+json"
CANARY = "the canary sings in the mine at dawn"
Json = dict[str, Any]


def ingest(
    http: httpx.Client, text: str, document: str = "a.txt", ontology: str = "notes", **more: Any
) -> Json:
    body = {"ontology": ontology, "document": document, "text": text, **more}
    response = http.post("/documents", json=body)
    assert response.status_code in {200, 202}, response.text
    return response.json()


def embedded(graph: Graph, http: httpx.Client, text: str, **about: Any) -> Json:
    stored = ingest(http, text, **about)
    run_jobs(graph)
    return stored


def search(http: httpx.Client, query: str | None = None, **options: Any) -> Json:
    asked = options if query is None else {"query_text": query, **options}
    response = http.post(SEARCH, json=asked)
    assert response.status_code == 200, response.text
    return response.json()


def texts(answer: Json) -> list[str]:
    return [hit["full_text"].strip() for hit in answer["sources"]]


def found(http: httpx.Client, query: str, **options: Any) -> list[str]:
    return texts(search(http, query, mode="text", **options))


def vector(values: Sequence[float] | Any, **options: Any) -> Json:
    return {"query_vector": values, "space": "default", "mode": "vector", **options}


def problem(response: httpx.Response, *statuses: int) -> str:
    assert response.status_code in statuses, (response.status_code, response.text[:500])
    assert response.headers["content-type"] == PROBLEM
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"].startswith("urn:kg:")
    assert body["title"]
    assert body["detail"]
    return body["detail"]


COUNTS = ("DocumentWrite", "DocumentWritesPruned", "AuditEntry")


def nodes(driver: neo4j.Driver) -> dict[str, int]:
    """Count nodes by label. Nodes that are never deleted are not included."""
    with driver.session() as session:
        rows = session.run("MATCH (n) RETURN labels(n)[0] AS label, count(*) AS n").data()
    return {row["label"]: row["n"] for row in rows if row["label"] not in COUNTS}


def lay_canary(url: str, graph: Graph, driver: neo4j.Driver) -> dict[str, int]:
    """Store the canary text. Return the number of nodes."""
    wipe(driver)
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    with httpx.Client(base_url=url, timeout=60) as http:
        embedded(graph, http, CANARY, document="canary.txt", ontology="canary")
    return nodes(driver)


def assert_unharmed(http: httpx.Client, driver: neo4j.Driver, before: dict[str, int]) -> None:
    answer = search(http, CANARY)
    assert texts(answer)[0] == CANARY
    assert answer["degraded"] == []
    assert answer["sources"][0]["ranks"] == {"vector": 1, "text": 1, "concepts": None, "pictures": None}
    assert nodes(driver) == before


def knock(http: httpx.Client, route: str, key: str | None = None, **headers: str) -> httpx.Response:
    """Send a request with an empty body for something that does not exist."""
    method, path = route.split(" ")
    path = path.replace("{page}", "1").replace("{", "no-").replace("}", "")
    sent = {} if key is None else {"Authorization": f"Bearer {key}"}
    body = {} if method in {"POST", "PUT", "PATCH"} else None
    with http.stream(method, path, headers=sent | headers, json=body) as response:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.read()
        return response
