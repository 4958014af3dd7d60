"""Tests that kg counts everything from SPEC C7, and does not log secrets."""

import pytest
import structlog
from prometheus_client import CollectorRegistry

from kg_api.errors import InvalidInput
from kg_api.metrics import Meters
from kg_api.providers.embedding import DeterministicEmbedder, MeteredEmbedder

TEXTS = ["one two three", "four five"]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Meters:
    return Meters(registry)


def test_failures_are_counted_by_their_kind(registry: CollectorRegistry, metrics: Meters) -> None:
    metered = MeteredEmbedder(DeterministicEmbedder(64), metrics)
    for wrong in ("", " "):
        with pytest.raises(InvalidInput):
            metered.embed_query(wrong)
    assert registry.get_sample_value("embedding_errors_total", {"type": "invalid-input"}) == 2
    assert registry.get_sample_value("embeddings_total", {"model": "word-hash", "dimensions": "64"}) is None


def test_texts_tokens_and_time_are_counted_and_logged(registry: CollectorRegistry, metrics: Meters) -> None:
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
    model = {"model": "word-hash"}
    assert registry.get_sample_value("embeddings_total", {**model, "dimensions": "64"}) == 3
    assert registry.get_sample_value("embedding_tokens_total", model) == 6
    assert registry.get_sample_value("embedding_latency_seconds_count", model) == 2
    assert (registry.get_sample_value("embedding_latency_seconds_sum", model) or 0) > 0
