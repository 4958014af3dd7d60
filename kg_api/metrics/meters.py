"""What a process counts and times, beside its embeddings: numbers, and names that code or settings give.

No label is anything that a user wrote: whoever has a key that reads may read them all.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from kg_api.metrics.files import reserve_room
from kg_api.metrics.once import once_per_process

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
"""Seconds: a statement takes 1 ms, a search 15, a large one a second; beyond 15 s one is given up."""
LONG_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
"""Seconds of what providers and jobs do."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
"""Of requests that were refused before they came to a route, or for which there is none."""


class HttpMeter:
    """Requests to the service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "kg_http_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "kg_http_request_seconds",
            "From a request to the beginning of its answer.",
            ("method", "route"),
            registry=registry,
            buckets=BUCKETS,
        )
        self._open = Gauge(
            "kg_http_requests_open",
            "Requests under way.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def begin(self) -> None:
        """Count a request that has come."""
        self._open.inc()

    def end(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count a request that is over.

        Args:
            method: one of METHODS, else `other`.
            route: the template of its path, never the path.
            status: of its answer; 0: it went away without one.
            seconds: until its answer began; None: it had none.
        """
        self._open.dec()
        self._requests.labels(method, route, f"{status // 100}xx" if status else "none").inc()
        if seconds is not None:
            self._seconds.labels(method, route).observe(seconds)


class StageMeter:
    """Stages of searches and of what is built on them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "kg_search_stage_seconds", "One stage.", ("of", "stage"), registry=registry, buckets=BUCKETS
        )

    def record(self, of: str, stage: str, seconds: float) -> None:
        self._seconds.labels(of, stage).observe(seconds)


class JobMeter:
    """Runs of jobs by this worker: a job has several where it yields, waits or fails."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._begun = Counter("kg_job_runs_begun", "Runs begun.", ("kind",), registry=registry)
        self._ended = Counter("kg_job_runs", "Runs ended.", ("kind", "outcome"), registry=registry)
        self._seconds = Histogram(
            "kg_job_run_seconds", "One run.", ("kind",), registry=registry, buckets=LONG_BUCKETS
        )

    def begin(self, kind: str) -> None:
        self._begun.labels(kind).inc()

    def end(self, kind: str, outcome: str, seconds: float) -> None:
        """Record how a run has ended, and how long it took."""
        self._ended.labels(kind, outcome).inc()
        self._seconds.labels(kind).observe(seconds)


class DatabaseMeter:
    """What is asked of Neo4j."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "kg_neo4j_seconds",
            "One try of a statement or of a transaction, waiting for a connection included.",
            ("access",),
            registry=registry,
            buckets=BUCKETS,
        )
        self._failures = Counter(
            "kg_neo4j_failures", "Tries that failed.", ("access", "error"), registry=registry
        )
        self._retries = Counter("kg_neo4j_retries", "Tries after the first.", ("access",), registry=registry)
        self._open = Gauge(
            "kg_neo4j_sessions_open",
            "Sessions under way; each has a connection, or waits for one.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    @contextmanager
    def timing(self, access: str) -> Generator[None]:
        begun = time.perf_counter()
        self._open.inc()
        try:
            yield
        finally:
            self._open.dec()
            self._seconds.labels(access).observe(time.perf_counter() - begun)

    def fail(self, access: str, error: str) -> None:
        """Count a try that failed, by the driver's name of its error."""
        self._failures.labels(access, error).inc()

    def retry(self, access: str) -> None:
        """Count a try after the first."""
        self._retries.labels(access).inc()


class ProviderMeter:
    """What is asked of providers; `kind` is what they do, `provider` the name of their host."""

    def __init__(self, registry: CollectorRegistry) -> None:
        of = ("kind", "provider")
        self._seconds = Histogram(
            "kg_provider_request_seconds",
            "One HTTP request.",
            of,
            registry=registry,
            buckets=LONG_BUCKETS,
        )
        self._failures = Counter(
            "kg_provider_failures", "Requests that failed.", (*of, "reason"), registry=registry
        )
        self._retries = Counter("kg_provider_retries", "Requests tried again.", ("kind",), registry=registry)
        self._tokens = Counter(
            "kg_provider_tokens", "Tokens read and written.", (*of, "direction"), registry=registry
        )
        self._dollars = Counter(
            "kg_provider_cost_dollars", "Money spent where a price is known.", of, registry=registry
        )

    @contextmanager
    def timing(self, kind: str, provider: str) -> Generator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._seconds.labels(kind, provider).observe(time.perf_counter() - begun)

    def fail(self, kind: str, provider: str, reason: str) -> None:
        self._failures.labels(kind, provider, reason).inc()

    def retry(self, kind: str) -> None:
        """Count a request that is made again."""
        self._retries.labels(kind).inc()

    def spend(self, kind: str, provider: str, *, read: int, written: int, dollars: float | None) -> None:
        """Count tokens, and what they cost; None: nobody knows."""
        self._tokens.labels(kind, provider, "read").inc(read)
        if written:
            self._tokens.labels(kind, provider, "written").inc(written)
        if dollars is not None:
            self._dollars.labels(kind, provider).inc(dollars)


class Meters:
    def __init__(self, registry: CollectorRegistry) -> None:
        """Register them; once in a registry."""
        self.http = HttpMeter(registry)
        self.stages = StageMeter(registry)
        self.jobs = JobMeter(registry)
        self.database = DatabaseMeter(registry)
        self.providers = ProviderMeter(registry)


@once_per_process
def meters() -> Meters:
    reserve_room()
    return Meters(REGISTRY)
