"""Tests that kg counts everything from SPEC C7, and does not log secrets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog
from prometheus_client import CollectorRegistry, generate_latest

from kg_api.errors import EmbeddingUnavailable, InvalidInput, KgError
from kg_api.providers.embedding import DeterministicEmbedder, EmbeddingMetrics, MeteredEmbedder
from kg_api.providers.embedding_port import Embedder, TextPart, is_token_embedder
from kg_api.providers.local_embedding import LocalEmbedder
from tests.support.behaviours import Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY, Asking
from tests.support.unavailable import UnavailableEmbedder

TEXTS = ["one two three", "four five"]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> EmbeddingMetrics:
    return EmbeddingMetrics(registry)


def test_texts_tokens_and_time_are_counted(registry: CollectorRegistry, metrics: EmbeddingMetrics) -> None:
    metered = MeteredEmbedder(DeterministicEmbedder(64), metrics)
    metered.embed_passages(TEXTS)
    metered.embed_query("six")
    model = {"model": "word-hash"}
    assert registry.get_sample_value("embeddings_total", {**model, "dimensions": "64"}) == 3
    assert registry.get_sample_value("embedding_tokens_total", model) == 6
    assert registry.get_sample_value("embedding_latency_seconds_count", model) == 2
    assert (registry.get_sample_value("embedding_latency_seconds_sum", model) or 0) > 0


def test_parts_are_counted_once_and_both_their_readings(
    registry: CollectorRegistry, metrics: EmbeddingMetrics
) -> None:
    watched = MeteredEmbedder(DeterministicEmbedder(64), metrics)
    assert is_token_embedder(watched)
    watched.embed_parts([TextPart("one two three", 0, 3), TextPart("one two three", 4, 7)])
    model = {"model": "word-hash"}
    assert registry.get_sample_value("embeddings_total", {**model, "dimensions": "64"}) == 2
    assert registry.get_sample_value("embedding_tokens_total", model) == 5
    assert not is_token_embedder(MeteredEmbedder(UnavailableEmbedder("no model"), metrics))


def test_failures_are_counted_by_their_kind(registry: CollectorRegistry, metrics: EmbeddingMetrics) -> None:
    metered = MeteredEmbedder(DeterministicEmbedder(64), metrics)
    for wrong in ("", " "):
        with pytest.raises(InvalidInput):
            metered.embed_query(wrong)
    assert registry.get_sample_value("embedding_errors_total", {"type": "invalid-input"}) == 2
    assert registry.get_sample_value("embeddings_total", {"model": "word-hash", "dimensions": "64"}) is None


def test_an_embedder_without_a_model_is_counted_too(
    registry: CollectorRegistry, metrics: EmbeddingMetrics
) -> None:
    metered = MeteredEmbedder(UnavailableEmbedder("no model"), metrics)
    with pytest.raises(EmbeddingUnavailable, match="no model"):
        metered.embed_query("a")
    assert registry.get_sample_value("embedding_errors_total", {"type": "embedding-unavailable"}) == 1


def test_calls_at_the_same_time_do_not_mix(
    local: LocalEmbedder, registry: CollectorRegistry, metrics: EmbeddingMetrics
) -> None:
    metered = MeteredEmbedder(local, metrics)
    with structlog.testing.capture_logs() as logs, ThreadPoolExecutor(4) as pool:
        list(pool.map(metered.embed_passages, [["word " * n] for n in range(1, 13)]))
    assert sorted(each["tokens"] for each in logs) == list(range(3, 15))
    assert registry.get_sample_value("embedding_tokens_total", {"model": local.identity.model}) == sum(
        range(3, 15)
    )


def test_billed_tokens_are_counted(
    server: EmbeddingServer, registry: CollectorRegistry, metrics: EmbeddingMetrics
) -> None:
    with Asking("openai", server) as asking:
        MeteredEmbedder(asking.embedder, metrics).embed_passages(TEXTS)
    assert registry.get_sample_value("embedding_tokens_total", {"model": "text-embedding-3-small"}) == 5


def test_log_line_contains_ids_and_counts(metrics: EmbeddingMetrics) -> None:
    metered = MeteredEmbedder(DeterministicEmbedder(64), metrics)
    merge = [structlog.contextvars.merge_contextvars]
    with (
        structlog.contextvars.bound_contextvars(trace_id="t-1"),
        structlog.testing.capture_logs(merge) as logs,
    ):
        metered.embed_passages(TEXTS)
        metered.embed_query("six")
    passages, query = logs
    assert {**passages, "ms": 0} == {
        "event": "embedded", "log_level": "info", "trace_id": "t-1", "of": "passages",
        "model": "word-hash", "texts": 2, "tokens": 5, "ms": 0,
    }  # fmt: skip
    assert (query["log_level"], query["of"]) == ("debug", "query")


def test_neither_key_nor_text_is_shown(
    asking: Asking, registry: CollectorRegistry, metrics: EmbeddingMetrics
) -> None:
    metered = MeteredEmbedder(asking.embedder, metrics)
    with structlog.testing.capture_logs() as logs:
        metered.embed_passages(TEXTS)
        asking.server.always = Status(401, message=f"bad key {CANARY}", code=CANARY)
        with pytest.raises(KgError):
            metered.embed_passages(TEXTS)
        asking.server.always = Status(429, message=f"{CANARY} {TEXTS[0]}", code=CANARY)
        with pytest.raises(KgError):
            metered.embed_query(TEXTS[0])
    shown = f"{logs} {generate_latest(registry).decode()} {metered!r}"
    assert len(logs) == 5
    assert CANARY not in shown
    assert TEXTS[0] not in shown


def test_the_rest_is_handed_through(metrics: EmbeddingMetrics, server: EmbeddingServer) -> None:
    with Asking("openai", server) as asking:
        metered: Embedder = MeteredEmbedder(asking.embedder, metrics)
        assert metered.identity == asking.embedder.identity
        assert metered.spans("a b", "c ") == [(0, 3)]
        metered.close()
        with pytest.raises(Exception, match="closed"):
            asking.embedder.embed_passages(["a"])
