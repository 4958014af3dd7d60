from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from kg_api.graph import document_writes, jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.graph.spaces import reset_rejected
from kg_api.graph.vectors import read_rejected_sources
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.embedding import EmbeddingConfig, EmbeddingConfigChange
from kg_api.schemas.vocabulary import JobState, Strategy
from kg_api.spaces.configuration import ConfigurationService, EmbeddingRequests
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.estimate import Estimator
from kg_api.spaces.plans import read_embedding_state
from tests.graph.test_embedding_jobs import CountingEmbedder
from tests.support.embedding import configure_in_place, open_spaces, run_jobs, status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import asked, context_of, llm_settings, write_contexts
from tests.support.records import record

PARAGRAPHS = [f"Paragraph {number} says that the price rose by {number} percent." for number in range(25)]
LLM = EmbeddingConfig(context="llm")


@pytest.fixture
def writer() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        running.chat = write_contexts
        yield running


@pytest.fixture
def contexts(graph: Graph, writer: EmbeddingServer) -> Iterator[Contexts]:
    opened = Contexts(graph, llm_settings(writer, price_input=2, price_output=8))
    yield opened
    opened.close()


def configured(graph: Graph, config: EmbeddingConfig = LLM) -> CountingEmbedder:
    embedder = CountingEmbedder()
    open_spaces(graph, embedder)
    configure_in_place(graph, "notes", **config.model_dump())
    return embedder


def passages(writer: EmbeddingServer) -> list[str]:
    return [each["text"] for request in writer.requests for each in asked(request)["passages"]]


def test_context_is_embedded_but_not_stored_in_text(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, contexts: Contexts
) -> None:
    embedder = configured(graph)
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, embedder, contexts=contexts)
    assert embedder.texts == [f"{context_of(text)}\n\n{text}" for text in PARAGRAPHS]
    with driver.session() as session:
        rows = session.run(
            "MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector ORDER BY s.paragraph"
        ).data()
    assert [row["text"] for row in rows] == [f"{text}\n\n" for text in PARAGRAPHS]
    expected = DeterministicEmbedder().embed_passages(embedder.texts)
    assert [row["vector"] for row in rows] == expected.tolist()
    assert passages(writer) == PARAGRAPHS
    assert [len(asked(request)["passages"]) for request in writer.requests] == [10, 10, 5]


@pytest.mark.parametrize("strategy", ["sentence", "count", "paragraph_group", "hierarchical"])
def test_every_strategy_has_contexts(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, contexts: Contexts, strategy: Strategy
) -> None:
    embedder = configured(graph, EmbeddingConfig(strategy=strategy, context="llm"))
    texts = [f"{text} {'More of it. ' * 40}" for text in PARAGRAPHS]
    for name in ("a.md", "b.md"):
        store_document(graph, record(name, texts))
    run_jobs(graph, embedder, batch_size=8, contexts=contexts)
    assert status(graph, "notes").missing == 0
    pairs = [each.split("\n\n", 1) for each in embedder.texts]
    assert {before for before, _ in pairs} == {context_of(text) for text in passages(writer)}
    assert sum(before == context_of(text) for before, text in pairs) > len(pairs) / 2, "the rest was split"
    with driver.session() as session:
        stored = session.run("MATCH (s:Source) RETURN s.full_text AS text").value()
    assert not any("Context of" in text for text in stored)


def test_stored_contexts_are_not_requested_again(
    graph: Graph, writer: EmbeddingServer, contexts: Contexts
) -> None:
    embedder = configured(graph)
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, embedder, contexts=contexts)
    first, requests = list(embedder.texts), len(writer.requests)
    document_writes.delete_ontology(graph, "notes")
    configured(graph)
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, embedder, contexts=Contexts(graph, llm_settings(writer)))
    assert embedder.texts == first * 2
    assert len(writer.requests) == requests
    graph.write("cache/prune_contexts", bound=0)
    document_writes.delete_ontology(graph, "notes")
    configured(graph)
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, embedder, contexts=contexts)
    assert len(writer.requests) == 2 * requests, "it is the cache that knows them"


def test_edit_requests_only_new_contexts(graph: Graph, writer: EmbeddingServer, contexts: Contexts) -> None:
    embedder = configured(graph)
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, embedder, contexts=contexts)
    writer.requests.clear()
    store_document(graph, record("a.md", ["A new beginning.", *PARAGRAPHS]))
    run_jobs(graph, embedder, contexts=contexts)
    assert passages(writer) == ["A new beginning."]
    assert asked(writer.requests[0])["document"].startswith("A new beginning.\n\nParagraph 0")


def test_source_without_context_is_skipped(graph: Graph, writer: EmbeddingServer, contexts: Contexts) -> None:
    def lost_at_12(body: dict[str, Any]) -> str:
        mute = any(each["text"] == PARAGRAPHS[12] for each in asked(body)["passages"])
        return "I cannot help with that." if mute else write_contexts(body)

    embedder = configured(graph)
    job_id = store_document(graph, record("a.md", PARAGRAPHS)).job_id or ""
    writer.chat = lost_at_12
    run_jobs(graph, embedder, contexts=contexts)
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.set_aside) == (JobState.SUCCEEDED_WITH_ERRORS, 1)
    mark = read_embedding_state(graph, "notes").target.mark
    (refused,) = read_rejected_sources(graph, "notes", mark, limit=9)
    assert refused.paragraph == 12
    assert refused.reason.startswith("the language model returns no context")
    assert status(graph, "notes").embedded == len(PARAGRAPHS) - 1
    writer.requests.clear()
    writer.chat = write_contexts
    graph.transaction(lambda tx: reset_rejected(tx, "notes", mark))
    jobs.retry_job(graph, job_id)
    run_jobs(graph, embedder, contexts=contexts)
    assert passages(writer) == [PARAGRAPHS[12]], "what it gave was remembered"
    assert status(graph, "notes").embedded == len(PARAGRAPHS)


def estimating(graph: Graph, contexts: Contexts, embedder: CountingEmbedder) -> ConfigurationService:
    spaces = open_spaces(graph, embedder)
    estimator = Estimator(graph, spaces, contexts, lambda _: 0.0)
    return ConfigurationService(graph, estimator, EmbeddingRequests(graph, estimator))


def test_preview_reports_cost_without_requests(
    graph: Graph, writer: EmbeddingServer, contexts: Contexts
) -> None:
    embedder = configured(graph, EmbeddingConfig())
    for name in ("a.md", "b.md"):
        store_document(graph, record(name, PARAGRAPHS))
    service = estimating(graph, contexts, embedder)
    bare = service.change("notes", EmbeddingConfigChange(), dry_run=True).regeneration
    cost = service.change("notes", EmbeddingConfigChange(context="llm"), dry_run=True).regeneration
    late = service.change("notes", EmbeddingConfigChange(context="late"), dry_run=True).regeneration
    assert late.tokens > bare.tokens, "the model reads the windows too"
    assert writer.requests == []
    assert bare.context_price is None
    assert cost.tokens > bare.tokens + 50 * 30, "with contexts of the usual length"
    assert cost.seconds is None
    assert cost.context_price is not None
    assert "50 contexts in 6 requests" in " ".join(cost.notes)
    service.change("notes", EmbeddingConfigChange(context="llm"), dry_run=False)
    run_jobs(graph, embedder, contexts=contexts)
    assert len(writer.requests) == 6
    sent = sum(len(each["content"].encode()) for r in writer.requests for each in r.body["messages"])
    least = sent / 4 * 2 / 1e6
    assert least < cost.context_price < least + 50 * 70 * 8 / 1e6
    store_document(graph, record("a.md", PARAGRAPHS, ontology="copies"))
    assert (
        service.change(
            "copies", EmbeddingConfigChange(context="llm"), dry_run=True
        ).regeneration.context_price
        == 0
    )
    with limit_visible_ontologies(frozenset({"copies"})):  # to whom it must not tell the texts of others
        assert (
            service.change(
                "copies", EmbeddingConfigChange(context="llm"), dry_run=True
            ).regeneration.context_price
            != 0
        )
