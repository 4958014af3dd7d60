from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import neo4j
import numpy as np
import pytest

from kg_api.errors import EmbeddingFailed
from kg_api.graph import document_writes, jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.vectors import (
    BEGINNING,
    EmbeddedBatch,
    SourceText,
    list_pending_sources,
    read_rejected_sources,
    write_batch,
)
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Vectors
from kg_api.schemas.embedding import RefusedSource
from kg_api.schemas.vocabulary import JobState
from kg_api.spaces.plans import read_embedding_state
from tests.support.embedders import calibrates, small_embedder
from tests.support.embedding import open_spaces, run_jobs, status
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


def test_every_source_gets_its_vector(graph: Graph, driver: neo4j.Driver) -> None:
    for number in range(5):
        store_document(graph, record(f"{number}.md", [f"paragraph {n} of {number}" for n in range(30)]))
    run_jobs(graph, batch_size=7)
    assert missing(graph) == 0
    with driver.session() as session:
        rows = session.run("MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector").data()
    expected = small_embedder().embed_passages([row["text"].strip() for row in rows])
    np.testing.assert_array_equal(np.array([row["vector"] for row in rows], dtype=np.float32), expected)


def test_job_reports_progress_and_completion(graph: Graph) -> None:
    job_id = store_document(graph, record("a.md", ["one", "two", "three"])).job_id
    run_jobs(graph, batch_size=2)
    job = jobs.find_job(graph, job_id or "")
    assert (job.state, job.done, job.total) == (JobState.SUCCEEDED, 3, 3)


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


def test_long_source_is_embedded_in_complete_chunks(graph: Graph, driver: neo4j.Driver) -> None:
    embedder = CountingEmbedder(max_tokens=8)
    text = " ".join(f"word{n}" for n in range(30))
    store_document(graph, record("a.md", [text, "short"]))
    run_jobs(graph, embedder)
    assert " ".join(part for part in embedder.texts if part != "short").split() == text.split()
    with driver.session() as session:
        rows = session.run(
            "MATCH (c:Chunk)-[:CHUNK_OF]->(s) "
            "RETURN c.offset AS o, c.end_offset AS n, s.full_text AS t, s.embedding AS v ORDER BY o"
        ).data()
    assert len(rows) >= 4
    assert " ".join(row["t"][row["o"] : row["n"]] for row in rows).split() == text.split()
    assert all(row["v"] is None for row in rows), "its chunks are searched, not the source itself too"


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


@pytest.mark.parametrize(
    "vector",
    [np.full(256, np.nan), np.full(256, np.inf), np.zeros(256), np.ones(255)],
    ids=["NaN", "infinite", "zero", "wrong size"],
)
def test_vector_unsupported_by_index_is_rejected(graph: Graph, vector: np.ndarray) -> None:
    store_document(graph, record("a.md", ["one"]))
    due, batch = one_due(graph)
    with pytest.raises(EmbeddingFailed):
        write(graph, replace(batch, vectors={due.source_id: vector.astype(np.float32)}))
    assert missing(graph) == 1


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


def test_rejected_text_is_skipped_and_others_are_embedded(graph: Graph) -> None:
    embedder = PickyEmbedder("number42.")
    texts = [f"This is number{n}." for n in range(100)]
    job_id = store_document(graph, record("a.md", texts)).job_id or ""
    run_jobs(graph, embedder)
    job, found = jobs.find_job(graph, job_id), status(graph, "notes")
    assert (job.state, job.set_aside, job.done, job.total) == (JobState.SUCCEEDED_WITH_ERRORS, 1, 100, 100)
    assert (found.embedded, found.refused, found.missing) == (99, 1, 0)
    (refused,) = refused_of(graph)
    assert (refused.paragraph, refused.reason) == (42, "400: a text is not taken")
    assert embedder.calls < 20, "halving finds it"
    embedder.calls = 0
    run_jobs(graph, embedder)
    jobs.ensure_job(graph, "source_embedding", "notes", total=0)
    run_jobs(graph, embedder)
    assert embedder.calls == 0, "it is not tried again by itself"


def test_a_text_that_changes_is_tried_again(graph: Graph) -> None:
    embedder = PickyEmbedder("bad")
    store_document(graph, record("a.md", ["a bad text", "a good one"]))
    run_jobs(graph, embedder)
    store_document(graph, record("a.md", ["a better text", "a good one"]))
    run_jobs(graph, embedder)
    assert (status(graph).embedded, status(graph).refused) == (2, 0)


def test_model_rejecting_everything_fails_the_job(graph: Graph) -> None:
    embedder = PickyEmbedder("number")
    job_id = store_document(graph, record("a.md", [f"This is number{n}." for n in range(30)])).job_id or ""
    run_jobs(graph, embedder)
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.error) == (JobState.QUEUED, "RejectedText: 400: a text is not taken")
    assert (status(graph).refused, status(graph).missing) == (0, 30)


def refused_of(graph: Graph) -> list[RefusedSource]:
    return read_rejected_sources(graph, "notes", read_embedding_state(graph, "notes").target.mark, limit=99)


def test_backfill_finds_what_lost_its_job(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, record("a.md", ["one", "two"]))
    with driver.session() as session:
        session.run("MATCH (j:Job) DELETE j").consume()
    jobs.enqueue_slot(graph, "backfill", "1")
    assert run_jobs(graph) == 2
    assert missing(graph) == 0


def test_a_job_of_a_deleted_ontology_just_ends(graph: Graph) -> None:
    job_id = store_document(graph, record("a.md", ["one"])).job_id or ""
    document_writes.delete_ontology(graph, "notes")
    run_jobs(graph)
    assert jobs.find_job(graph, job_id).state is JobState.SUCCEEDED
