from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import neo4j
import numpy as np
import pytest

from kg_api.errors import EmbeddingFailed
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.vectors import BEGINNING, EmbeddedBatch, SourceText, list_pending_sources, write_batch
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Vectors
from kg_api.schemas.spaces import ModelChoice
from kg_api.schemas.vocabulary import JobState
from kg_api.spaces.plans import read_embedding_state
from tests.support.cypher import rows
from tests.support.embedders import calibrates, small_embedder
from tests.support.embedding import open_spaces, run_jobs, status
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import Asking
from tests.support.records import record


class CountingEmbedder(DeterministicEmbedder):
    """Embedder that records its texts. You can pass a hook to call before it embeds them."""

    def __init__(self, max_tokens: int = 512) -> None:
        super().__init__(max_tokens=max_tokens)
        self.texts: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if calibrates(texts):
            return super().embed_passages(texts)
        self.before()
        self.texts.extend(texts)
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return DeterministicEmbedder(max_tokens=self.identity.max_tokens).embed_query(text)


def missing(graph: Graph) -> int:
    return status(graph).missing


def test_only_changed_sources_are_embedded_again(graph: Graph) -> None:
    embedder = CountingEmbedder()
    store_document(graph, record("a.md", ["one", "two", "three"]))
    run_jobs(graph, embedder)
    store_document(graph, record("a.md", ["three", "one", "new"]))
    run_jobs(graph, embedder)
    assert sorted(embedder.texts) == ["new", "one", "three", "two"]


def test_sources_ingested_during_a_job_are_embedded(graph: Graph) -> None:
    embedder = CountingEmbedder()
    store_document(graph, record("a.md", [f"text {n}" for n in range(10)]))
    late = iter([record("late.md", [f"late {n}" for n in range(20)])])
    embedder.before = lambda: [store_document(graph, each) for each in late] and None
    assert run_jobs(graph, embedder, batch_size=4) == 1
    assert missing(graph) == 0
    assert len(embedder.texts) == 30


def one_due(graph: Graph) -> tuple[SourceText, EmbeddedBatch]:
    """Return the only pending source and a batch to embed it."""
    open_spaces(graph)
    embedding_state = read_embedding_state(graph, "notes")
    wanted = embedding_state.target.wanted()
    (due,) = list_pending_sources(graph, wanted, after=BEGINNING, limit=9)
    vector = small_embedder().embed_passages([due.full_text])[0]
    ids = frozenset({due.source_id})
    return due, EmbeddedBatch("notes", [due], ids, {due.source_id: vector}, [], [], frozenset())


def write(graph: Graph, batch: EmbeddedBatch) -> int:
    plan = read_embedding_state(graph, "notes").target
    return graph.transaction(lambda tx: write_batch(tx, batch, plan.space, plan.mark))


def test_vector_of_changed_text_is_not_written(graph: Graph) -> None:
    store_document(graph, record("a.md", ["old"]))
    due, batch = one_due(graph)
    changed = replace(batch, sources=[replace(due, content_hash="another")])
    assert write(graph, changed) == 0
    assert missing(graph) == 1
    assert write(graph, batch) == 1
    assert missing(graph) == 0


class PickyEmbedder(CountingEmbedder):
    """Embedder that rejects some texts, as if the provider had returned status 400."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused
        self.calls = 0

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        if any(word in text for text in texts for word in self.refused):
            raise EmbeddingFailed("400: a text is not taken")
        return super().embed_passages(texts)


def test_a_text_that_changes_is_tried_again(graph: Graph) -> None:
    embedder = PickyEmbedder("bad")
    store_document(graph, record("a.md", ["a bad text", "a good one"]))
    run_jobs(graph, embedder)
    store_document(graph, record("a.md", ["a better text", "a good one"]))
    run_jobs(graph, embedder)
    assert (status(graph).embedded, status(graph).refused) == (2, 0)


AT_ONCE = 4
SIZE = 8
MODEL = "text-embedding-3-small"
SOURCES = 100


@pytest.fixture
def asking() -> Iterator[Asking]:
    choice = ModelChoice("openai", MODEL, small_embedder().identity.dimensions)
    with EmbeddingServer() as server, Asking("openai", server, choice, timeout=20) as asking:
        yield asking


def seed(graph: Graph) -> str:
    return store_document(graph, record("a.md", [f"This is number{n}." for n in range(SOURCES)])).job_id or ""


def embed(graph: Graph, asking: Asking, *, cached: bool = False) -> int:
    spaces = open_spaces(graph, asking.embedder)
    return run_jobs(graph, batch_size=SIZE, spaces=spaces, cached=cached, requests_at_once=AT_ONCE)


def passages(server: EmbeddingServer) -> list[list[str]]:
    asked = [[text for text in each.body["input"] if "number" in text] for each in server.requests]
    return [texts for texts in asked if texts]


def number(text: str) -> int:
    return int(text.removeprefix("This is number").split(".")[0])


def assert_right_vectors(driver: neo4j.Driver, expected: int) -> None:
    """Assert that the vectors for the first sources are correct."""
    found = rows(
        driver, "MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector ORDER BY s.paragraph"
    )
    embedded = [row for row in found if row["vector"] is not None]
    assert [number(row["text"]) for row in embedded] == list(range(expected))
    stored = np.array([row["vector"] for row in embedded], dtype=np.float32)
    right = small_embedder().embed_passages([row["text"].strip() for row in embedded])
    np.testing.assert_allclose(stored, right, atol=1e-6)


def test_concurrent_requests_return_vectors_to_their_sources(
    graph: Graph, driver: neo4j.Driver, asking: Asking
) -> None:
    dice = random.Random(7)
    asking.server.load.takes = lambda _: dice.uniform(0.1, 0.4)  # more than asking again takes
    job = jobs.find_job(graph, seed(graph))
    assert embed(graph, asking) == 1
    assert_right_vectors(driver, SOURCES)
    assert max(asking.server.load.at_once) == AT_ONCE
    done = jobs.find_job(graph, job.job_id)
    assert (done.state, done.done, done.total) == (JobState.SUCCEEDED, SOURCES, SOURCES)
