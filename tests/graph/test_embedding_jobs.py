import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, LiteralString, cast

import neo4j
import numpy as np
import pytest

from kg_api.errors import EmbeddingFailed
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import enqueue_slot
from kg_api.graph.library import change_by_name
from kg_api.graph.spaces import hold_configurations
from kg_api.graph.vectors import (
    BEGINNING,
    EmbeddedBatch,
    PendingQuery,
    SourceText,
    count_due,
    flag,
    is_noted,
    list_pending_sources,
    write_batch,
)
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Vectors
from kg_api.schemas.documents import DocumentChange
from kg_api.schemas.spaces import ModelChoice
from kg_api.schemas.vocabulary import JobState
from kg_api.spaces.plans import read_embedding_state
from tests.support.cypher import STATEMENTS, rows
from tests.support.embedders import calibrates, small_embedder
from tests.support.embedding import configure_in_place, open_spaces, run_jobs, status
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
    wanted = embedding_state.target.build_query()
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


MANY = 160
FEW = 40
"""Number of database hits that are allowed for a read if no source is pending."""
slots = iter(range(1000))


@pytest.fixture
def embedded(graph: Graph) -> Graph:
    for number in range(4):
        store_document(graph, record(f"{number}.md", [f"text {n} of {number}" for n in range(MANY // 4)]))
    run_jobs(graph, batch_size=200)
    tick(graph)
    return graph


def tick(graph: Graph) -> None:
    """Run the tasks that a worker would run when it starts."""
    enqueue_slot(graph, "backfill", str(next(slots)))
    run_jobs(graph)


def wanted(graph: Graph) -> PendingQuery:
    state = read_embedding_state(graph, "notes")
    return state.target.build_query()


def reads(driver: neo4j.Driver, name: str, **parameters: Any) -> int:
    """Return the number of database hits for a statement."""
    text = STATEMENTS[name].replace("CYPHER 25\n", "CYPHER 25 PROFILE\n", 1)
    with driver.session() as session:
        summary = session.run(cast("LiteralString", text), parameters).consume()
    assert summary.profile is not None
    return _hits(summary.profile)


def _hits(plan: dict[str, Any]) -> int:
    own = int(plan["args"].get("DbHits", 0))
    return own + sum(_hits(each) for each in plan.get("children", ()))


def due(graph: Graph) -> set[str]:
    return {
        each.full_text.strip()
        for each in list_pending_sources(graph, wanted(graph), after=BEGINNING, limit=1000)
    }


def test_nothing_pending_needs_few_database_reads(embedded: Graph, driver: neo4j.Driver) -> None:
    assert is_noted(embedded, "notes", wanted(embedded).mark)
    given = {**wanted(embedded).parameters(), "after": "", "after_paragraph": -1, "limit": 64}
    assert reads(driver, "embedding/due", **given) < FEW
    assert reads(driver, "embedding/count_due", **given) < FEW
    plans = [read_embedding_state(embedded, "notes").counted]
    assert reads(driver, "ontologies/list", plans=plans) < FEW


def test_new_text_is_found_without_a_full_scan(embedded: Graph, driver: neo4j.Driver) -> None:
    store_document(embedded, record("new.md", ["one", "two"]))
    assert due(embedded) == {"one", "two"}
    given = {**wanted(embedded).parameters(), "after": "", "after_paragraph": -1, "limit": 64}
    assert reads(driver, "embedding/due", **given) < 2 * FEW
    run_jobs(embedded)
    assert due(embedded) == set()


@pytest.mark.parametrize("noted", [True, False])
def test_flags_and_full_scan_count_the_same(embedded: Graph, driver: neo4j.Driver, *, noted: bool) -> None:
    store_document(embedded, record("new.md", ["one", "two"]))
    refused = wanted(embedded).mark.refused
    rows(driver, "MATCH (s:Source {paragraph: 3}) SET s.embedded_with = 'older', s.unembedded = true")
    rows(
        driver,
        "MATCH (s:Source {paragraph: 4}) SET s.embedded_with = $refused, s.unembedded = true",
        refused=refused,
    )
    if not noted:
        rows(driver, "MATCH (o:Ontology) SET o.flagged_for = null")
    told = status(embedded)
    assert (told.total, told.embedded, told.missing, told.stale, told.refused, told.searchable) == (
        *(MANY + 2, MANY - 8, 2, 4, 4, MANY - 4),
    )
    assert count_due(embedded, wanted(embedded)) == 6
    assert len(due(embedded)) == 6


def add_document(graph: Graph) -> None:
    store_document(graph, record("new.md", ["one"]))


def change_text(graph: Graph) -> None:
    store_document(graph, record("0.md", ["another text"]))


def change_title(graph: Graph) -> None:
    change_by_name(graph, "0.md", DocumentChange(title="Another"))


def change_date(graph: Graph) -> None:
    change_by_name(graph, "0.md", DocumentChange(metadata={"date": "2025-01-31"}))


def store_title(graph: Graph) -> None:
    texts = [f"text {n} of 0" for n in range(MANY // 4)]
    store_document(graph, replace(record("0.md", texts), title="Another", content_hash="other"))


@pytest.mark.parametrize("change", [add_document, change_text, change_title, change_date, store_title])
def test_change_flags_the_same_sources_as_a_full_scan(
    embedded: Graph, driver: neo4j.Driver, change: Callable[[Graph], None]
) -> None:
    configure_in_place(embedded, "notes", context="template")
    tick(embedded)
    assert is_noted(embedded, "notes", wanted(embedded).mark)
    assert due(embedded) == set()
    change(embedded)
    flagged = due(embedded)
    rows(driver, "MATCH (o:Ontology) SET o.flagged_for = null")
    assert flagged == due(embedded) != set()


def test_worker_start_finds_unflagged_source(embedded: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "MATCH (s:Source {paragraph: 7}) SET s.embedded_with = null")
    assert count_due(embedded, wanted(embedded)) == 0
    tick(embedded)
    assert status(embedded).missing == 0
    assert rows(driver, "MATCH (s:Source {paragraph: 7}) RETURN DISTINCT s.embedded_with AS mark") == [
        {"mark": wanted(embedded).mark.value}
    ]


def test_late_batch_of_old_fingerprint_keeps_the_flag(embedded: Graph, driver: neo4j.Driver) -> None:
    store_document(embedded, record("new.md", ["one"]))
    plan = read_embedding_state(embedded, "notes").target
    given = {**plan.mark.parameters(), "property": plan.space.vector_property}
    (source,) = rows(driver, "MATCH (s:Source) WHERE s.unembedded RETURN s.source_id AS id")
    late = {**given, "mark": "older", "rows": [{"source_id": source["id"], "vector": None}]}
    text = STATEMENTS["sources/mark"]
    rows(driver, text, **{name: late.get(name) for name in late.keys() | {"time_property"}})
    assert due(embedded) == {"one"}


def test_outdated_configuration_is_not_noted(embedded: Graph) -> None:
    before = read_embedding_state(embedded, "notes")
    configure_in_place(embedded, "notes", strategy="sentence")
    flag(
        embedded,
        "notes",
        before.target.mark,
        lambda tx: hold_configurations(tx, ["notes"]).get("notes") == before.configured,
    )
    assert not is_noted(embedded, "notes", before.target.mark)
