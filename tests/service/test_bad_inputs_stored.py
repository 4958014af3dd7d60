"""Tests with harmful requests that store data or run at once: HARDENING 29-47. See test_bad_inputs.py."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import neo4j
import numpy as np
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.search import REMEMBERED_SECONDS
from kg_api.graph.spaces import ensure_space
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Vectors
from kg_api.schemas.search import SourceSearch
from kg_api.search.service import SearchService
from kg_api.spaces.snapshot import get_snapshots
from tests.service.asking import CANARY, embedded, found, ingest, nodes, search, texts
from tests.support.embedders import small_embedder
from tests.support.embedding import open_spaces, run_jobs

HOSTILE = ["'}) DETACH DELETE n //", "a`) MATCH (n) DETACH DELETE n //", "$name {x: 1}", "../../etc/passwd"]


@pytest.fixture(autouse=True)
def canary(http: httpx.Client, graph: Graph) -> Iterator[None]:
    embedded(graph, http, CANARY, document="canary.txt", ontology="canary")
    yield
    assert texts(search(http, CANARY, ontology="canary")) == [CANARY]


class BadEmbedder(DeterministicEmbedder):
    def __init__(self, bad: Sequence[float]) -> None:
        super().__init__()
        self.bad = bad

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.bad] * len(texts), dtype=np.float32)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([1.0] * 255, id="29-wrong dimension"),
        pytest.param([float("nan")] * 256, id="29-NaN"),
        pytest.param([0.0] * 256, id="29-zero"),
    ],
)
def test_invalid_vector_is_never_written(
    http: httpx.Client, graph: Graph, driver: neo4j.Driver, bad: Sequence[float]
) -> None:
    """Vectors come from a model. If a number is invalid, Neo4j would accept it without an error (29)."""
    job_id = ingest(http, "a paragraph", document="bad.txt")["job_id"]
    run_jobs(graph, BadEmbedder(bad))
    assert "EmbeddingFailed" in http.get(f"/jobs/{job_id}").json()["error"]
    assert http.get("/ontologies/notes/embedding-status").json()["missing"] == 1
    with driver.session() as session:
        stored = session.run("MATCH (s:Source {ontology: 'notes'}) RETURN s.embedding AS v").value()
    assert stored == [None]
    assert found(http, "paragraph") == ["a paragraph"]


def test_30_missing_index_leaves_the_other_retriever(graph: Graph, driver: neo4j.Driver) -> None:
    """This drops the vector index and creates it again."""
    embedder, asked = small_embedder(), SourceSearch(query_text=CANARY)
    spaces = open_spaces(graph, embedder)
    with driver.session() as session:
        session.run("DROP INDEX passage_embedding").consume()
    try:
        service = SearchService(graph, spaces)
        missing = get_snapshots(graph).read_populating("passage_embedding", "source_words")
        answer = service.search(asked)
    finally:
        ensure_space(graph, embedder.identity)
    with driver.session() as session:
        session.run("CALL db.awaitIndexes(60)").consume()
    time.sleep(REMEMBERED_SECONDS + 0.1)
    again = service.search(asked)
    service.close()
    assert missing == {"passage_embedding": "not there"}
    assert [each.part for each in answer.degraded] == ["vector_index"]
    assert (answer.mode, [hit.full_text for hit in answer.sources]) == ("text", [CANARY])
    assert (again.mode, again.degraded) == ("hybrid", [])


@pytest.mark.parametrize("name", [pytest.param(name, id=f"34-{name}") for name in HOSTILE])
def test_hostile_name_is_stored_literally(http: httpx.Client, driver: neo4j.Driver, name: str) -> None:
    before = nodes(driver)
    stored = ingest(http, "a paragraph", document=name, uri=name, metadata={name: name})
    read = http.get(f"/documents/{stored['document_id']}").json()
    assert (read["document"], read["uri"], read["metadata"]) == (name, name, {name: name})
    assert texts(search(http, "paragraph", documents=[name])) == ["a paragraph"]
    gone = http.delete(f"/documents/{stored['document_id']}").json()
    assert gone == {"documents": 1, "sources": 1, "notes": []}
    assert nodes(driver)["Source"] == before["Source"]


def test_34_hostile_words_are_only_searched(http: httpx.Client) -> None:
    ingest(http, "a line about DETACH DELETE n // in it", document="cypher.txt")
    assert found(http, "'}) DETACH DELETE n //") == ["a line about DETACH DELETE n // in it"]


def test_40_repeated_form_field_is_rejected(http: httpx.Client) -> None:
    files = [("file", ("a.txt", b"some text")), ("ontology", (None, "canary")), ("ontology", (None, "notes"))]
    response = http.post("/documents", files=files)
    assert response.status_code == 422
    assert "ontology" in response.json()["detail"]


def test_46_concurrent_creation_stores_one_document(http: httpx.Client, driver: neo4j.Driver) -> None:
    body = {"ontology": "notes", "document": "a.txt", "text": "the same text"}

    def create(_: int) -> httpx.Response:
        return http.post("/documents", json=body)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, range(16)))
    assert sorted(answer.status_code for answer in answers) == [200] * 15 + [202]
    assert [answer.json()["change"] for answer in answers].count("created") == 1
    assert nodes(driver)["Document"] == 2
    assert nodes(driver)["Source"] == 2


def test_47_path_traversal_is_an_ordinary_name(http: httpx.Client) -> None:
    """If a name contains a parent folder, kg does not resolve it."""
    names = ["a/../a.txt", "./a.txt", "a.txt", "a.txt/a.txt"]
    ids = {ingest(http, f"text {name}", document=name)["document_id"] for name in names}
    assert len(ids) == len(names)
    listed = [each["document"] for each in http.get("/documents?ontology=notes").json()["documents"]]
    assert listed == sorted(names)
