import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
import structlog
from structlog.testing import capture_logs

from kg_api.errors import ConfigurationError
from kg_api.graph.jobs import build_new_job
from kg_api.local.processes import find_free_port
from kg_api.providers.embedding_endpoints import open_openai
from kg_api.providers.retrying import RetryPolicy
from kg_api.schemas.spaces import ModelChoice
from kg_api.tracing import SpanKind, get_traceparent, root_span, span, tracing
from tests.support.behaviours import Status
from tests.support.collector import Collector
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY, QUICK, provider_settings
from tests.support.running import wait_until

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{PARENT}-01"
SENDS = "OtelBatchSpan"
"""Part of the name of the thread. If it does not end with its test, it can affect others."""
SECRET = "a secret sentence"


def trace_of_log() -> str | None:
    return structlog.contextvars.get_contextvars().get("trace_id")


def test_without_collector_the_trace_is_forwarded() -> None:
    with root_span("x", SpanKind.SERVER, GIVEN), span("y"):
        assert (trace_of_log(), get_traceparent()) == (TRACE, GIVEN)
        assert build_new_job("test", "notes")["traceparent"] == GIVEN


def test_invalid_header_gives_logs_no_trace() -> None:
    with root_span("x", SpanKind.SERVER, "00-invalid"):
        assert trace_of_log() is None


def test_threads_inherit_the_trace() -> None:
    with root_span("x", SpanKind.SERVER, GIVEN), ThreadPoolExecutor(1) as pool:
        assert pool.submit(copy_context().run, get_traceparent).result() == GIVEN
        assert pool.submit(copy_context().run, trace_of_log).result() == TRACE
        assert pool.submit(get_traceparent).result() is None


def test_span_error_contains_only_its_class() -> None:
    failing = pytest.raises(ValueError, match="secret")
    with Collector() as collector, failing, tracing(collector.url, "kg-test"), span("x"):
        raise ValueError(SECRET)
    assert [each.status for each in collector.spans] == ["ValueError"]
    assert SECRET.encode() not in b"".join(collector.bodies)


def test_provider_request_is_a_propagated_span() -> None:
    with Collector() as collector, EmbeddingServer() as server:
        embedder = open_openai(
            provider_settings(server), ModelChoice("openai"), RetryPolicy(first_wait=QUICK)
        )
        with tracing(collector.url, "kg-test"), root_span("job x", SpanKind.CONSUMER, GIVEN):
            embedder.embed_passages([SECRET])
            server.always = Status(401, message=f"{CANARY} {SECRET}")
            with pytest.raises(ConfigurationError):
                embedder.embed_passages([SECRET])
        embedder.close()
        good, bad, job = collector.spans
    assert (good.name, good.kind, good.parent_id) == ("embed 127.0.0.1", 3, job.span_id)
    assert good.attributes["http.response.status_code"] == "200"
    assert good.attributes["gen_ai.request.model"] == "text-embedding-3-small"
    assert server.requests[0].headers["traceparent"] == f"00-{TRACE}-{good.span_id}-01"
    assert (bad.attributes["http.response.status_code"], bad.status) == ("401", "HTTP 401")
    sent = b"".join(collector.bodies)
    assert CANARY.encode() not in sent
    assert SECRET.encode() not in sent


@pytest.mark.parametrize("broken", ["away", "slow", "failing"])
def test_a_broken_collector_neither_breaks_nor_slows(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    monkeypatch.setattr("kg_api.tracing.SEND_SECONDS", 0.3)
    with Collector(503 if broken == "failing" else 200, delay=60 if broken == "slow" else 0) as collector:
        url = f"http://127.0.0.1:{find_free_port()}" if broken == "away" else collector.url
        begun = time.monotonic()
        with tracing(url, "kg-test"):
            for _ in range(500):  # more than are kept
                with root_span("x", SpanKind.SERVER, None):
                    pass
            worked = time.monotonic() - begun
        ended = time.monotonic() - begun - worked
        wait_until(lambda: not [each for each in threading.enumerate() if SENDS in each.name], 30)
    assert worked < 1
    assert ended < 4


def test_missing_packages_disable_tracing_with_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with (
        capture_logs() as logs,
        tracing("http://127.0.0.1:4318", "kg-test"),
        root_span("x", SpanKind.SERVER, GIVEN),
    ):
        assert get_traceparent() == GIVEN
    assert "'.[tracing]'" in logs[0]["event"]
