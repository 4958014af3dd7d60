from collections.abc import Iterator
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.local.processes import find_free_port
from tests.neo4j_server import Neo4jServer
from tests.service.asking import embedded, problem, search, texts, vector
from tests.support.embedders import small_embedder
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting
from tests.support.mcp import call, failure
from tests.support.running import Service, environment, serve, started, wait_until

SECRET = "canary-4f1d9c-key"


def test_health_and_readiness_describe_each_check(kg: KgClient) -> None:
    assert (kg.health().status, kg.health().version) == ("ok", __version__)
    readiness = kg.readiness()
    assert (readiness.ready, readiness.waiting_for) == (True, None)
    checks = {check.name: check for check in readiness.checks}
    assert {"source_words", "passage_embedding", "model"} <= checks.keys()
    assert all(check.ok for check in checks.values())
    assert "100 %" in checks["source_words"].detail


def test_health_answers_whatever_parameters_a_probe_adds(http: httpx.Client) -> None:
    assert http.get("/health?probe=1").status_code == http.get("/ready?probe=1").status_code == 200


def test_readiness_waits_for_a_missing_index(http: httpx.Client, graph: Graph, driver: neo4j.Driver) -> None:
    ensure_space(graph, small_embedder().identity)
    with driver.session() as session:
        session.run("DROP INDEX passage_embedding").consume()
        try:
            response = http.get("/ready")
        finally:
            ensure_space(graph, small_embedder().identity)
            session.run("CALL db.awaitIndexes(60)").consume()
    assert response.status_code == 503
    assert response.json()["waiting_for"] == "index passage_embedding is not there"
    assert http.get("/ready").status_code == 200


@pytest.fixture
def modelless(
    server: Neo4jServer, graph: Graph, http: httpx.Client, writer: EmbeddingServer, tmp_path: Path
) -> Iterator[Service]:
    ensure_space(graph, small_embedder().identity)
    embedded(graph, http, "green apples in a bowl")
    (tmp_path / "empty").mkdir()
    odd = {"KG_EMBEDDING__PROVIDER": "local", "KG_EMBEDDING__MODEL_FOLDER": str(tmp_path / "empty")}
    odd |= {"KG_LLM__MODEL": "small-writer", "KG_LLM__BASE_URL": writer.openai_url}
    running = serve(server, tmp_path, **odd, KG_API_KEY=SECRET, KG_LOG__LEVEL="debug")
    yield running
    assert running.stop() == 0, running.output()


def test_missing_model_leaves_keyword_search_without_leaking_secrets(
    modelless: Service, server: Neo4jServer, writer: EmbeddingServer
) -> None:
    """Use one process for all tests, because it takes seconds to start."""
    headers = {"Authorization": f"Bearer {SECRET}"}
    with httpx.Client(base_url=modelless.url, headers=headers, timeout=60) as http:
        answers_by_full_text(http)
        lets_nothing_pass_a_number_unmeasured(http, writer)
        seen = errors_and_descriptions(http)
    for secret in (SECRET, server.password):
        assert secret
        assert secret not in seen
        assert secret not in modelless.output()


def answers_by_full_text(http: httpx.Client) -> None:
    for mode in ("hybrid", "vector"):
        answer = search(http, "apples", mode=mode)
        assert (answer["mode"], answer["space"], texts(answer)) == ("text", None, ["green apples in a bowl"])
        assert [each["part"] for each in answer["degraded"]] == ["embedding"]
        assert "full text only" in answer["degraded"][0]["effect"]
    assert search(http, "apples", mode="text")["degraded"] == []
    least = search(http, "apples", min_similarity=0.5)
    assert texts(least) == ["green apples in a bowl"]
    assert "min_similarity was not applied" in least["degraded"][0]["effect"]
    values = [float(x) for x in small_embedder().embed_query("apples")]
    assert search(http, **vector(values))["mode"] == "vector", "a vector of the client's own needs no model"
    ready = http.get("/ready").json()
    assert ready["ready"]
    assert [check["name"] for check in ready["checks"] if not check["ok"]] == ["model"]
    assert http.post("/documents", json={"ontology": "n", "document": "b", "text": "b"}).status_code == 202


def lets_nothing_pass_a_number_unmeasured(http: httpx.Client, writer: EmbeddingServer) -> None:
    writer.chat, writer.always = quoting, None
    writer.requests.clear()
    asked = {"question": "Where are the green apples?", "min_similarity": 0.5}
    told = http.post("/queries/answer", json=asked).json()
    assert (told["answered"], told["refusal"], writer.requests) == (False, "not_measured", [])
    assert "min_similarity" in told["reason"]
    assert "min_similarity needs a vector" in told["degraded"][0]["effect"]
    assert (told["counts"]["found"], told["counts"]["without_vector"], told["sources"]) == (1, 1, [])
    given = http.post("/queries/augment", json={"text": "green apples", "min_similarity": 0.5}).json()
    assert (given["records"], given["context"], given["counts"]["without_vector"]) == ([], "", 1)
    assert "min_similarity needs a vector" in given["degraded"][0]["effect"]
    by_words = http.post("/queries/answer", json={"question": asked["question"]}).json()
    assert by_words["answered"], "without a number words are answered from, and that is said"
    assert "no least similarity was applied" in by_words["degraded"][0]["effect"]
    usual = http.post("/queries/augment", json={"text": "green apples"}).json()
    assert [each["document"] for each in usual["records"]] == ["a.txt"]
    assert "no least similarity was applied" in usual["degraded"][0]["effect"]


def errors_and_descriptions(http: httpx.Client) -> str:
    paths = ["/openapi.json", "/ready", "/health", "/nothing", "/documents?limit=x", f"/jobs/{'x' * 200}"]
    asked = [http.get(path) for path in paths]
    asked.append(http.post("/documents", content=b"{", headers={"content-type": "application/json"}))
    return "".join(f"{answer.headers}{answer.text}" for answer in asked)


@pytest.mark.usefixtures("graph")
def test_missing_model_and_vectors_end_the_service(
    server: Neo4jServer, driver: neo4j.Driver, tmp_path: Path
) -> None:
    driver.execute_query("MATCH (e:EmbeddingSpace) DELETE e")
    odd = {"KG_EMBEDDING__PROVIDER": "local", "KG_EMBEDDING__MODEL_FOLDER": str(tmp_path)}
    env = environment(server, KG_API__PORT=str(find_free_port()), **odd)
    with started(["serve"], env, tmp_path / "log") as running:
        assert running.process.wait(60) == 78
    assert "model.onnx" in running.output()


def test_service_waits_for_the_database_and_reports_it(server: Neo4jServer, tmp_path: Path) -> None:
    port, nowhere = find_free_port(), find_free_port()
    env = environment(server, KG_NEO4J__URI=f"bolt://127.0.0.1:{nowhere}", KG_API__PORT=str(port))
    with started(["serve"], env, tmp_path / "log") as running:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: answers(url), 60, running.output)
        response = httpx.post(f"{url}/queries/sources/search", json={"query_text": "a"})
        readiness = httpx.get(f"{url}/ready")
        assert "not ready yet" in problem(response, 503)
        assert response.headers["retry-after"]
        assert (readiness.status_code, readiness.json()["ready"]) == (503, False)
        assert failure(call(f"{url}/mcp", "list_ontologies")).startswith("not ready yet: ")
        wait_until(lambda: str(nowhere) in httpx.get(f"{url}/ready").json()["waiting_for"], 20)
        assert running.stop() == 0


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False
