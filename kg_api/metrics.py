"""Prometheus metrics of a process, and the token budget of an API key."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, cast

import psutil
import structlog
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    start_http_server,
    values,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from kg_api.schemas.operations import QueueStatus

# Metric files that processes share in PROMETHEUS_MULTIPROC_DIR

log = structlog.get_logger()

KIB = 1024
RESERVED_BYTES = {"counter": 256 * KIB, "histogram": 1024 * KIB, "gauge_livesum": 16 * KIB}
"""Bytes per process by file type of prometheus_client, enough for all label values
(`tests/unit/metrics/test_exposition.py`)."""
_LIVE = re.compile(r"gauge_live[a-z]+_(\d+)\.db")


def get_shared_folder() -> Path | None:
    """Get the folder for shared metrics. None: the processes do not share metrics."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return Path(folder) if folder else None


def reserve_room() -> None:
    """Allocate all blocks of the shared metric files before the first metric exists.

    prometheus_client maps a sparse file into memory. On a full disk, a write to a new page ends the process
    with SIGBUS. Without enough space, this process does not share its metrics and logs a warning.
    """
    if (folder := get_shared_folder()) is None:
        return
    files = {folder / f"{kind}_{os.getpid()}.db": size for kind, size in RESERVED_BYTES.items()}
    try:
        for path, size in files.items():
            with path.open("ab") as file:
                file.write(bytes(max(size - file.tell(), 0)))
    except OSError as error:
        for path in files:
            path.unlink(missing_ok=True)
        values.ValueClass = values.MutexValue
        log.warning("metrics of this process are not shared, because the disk is full", reason=str(error))


def forget_dead() -> None:
    """Delete the live gauges of dead processes. Counters stay."""
    if (folder := get_shared_folder()) is None:
        return
    for path in folder.glob("gauge_live*.db"):
        found = _LIVE.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found[1])):
            path.unlink(missing_ok=True)


# Export

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def render_metrics(*more: Collector) -> bytes:
    """Render the metrics of all processes as text, with additional collectors."""
    forget_dead()
    counted, computed = REGISTRY, CollectorRegistry()
    if (folder := get_shared_folder()) and folder.is_dir():
        MultiProcessCollector(counted := CollectorRegistry())
    for each in more:
        computed.register(each)
    return generate_latest(counted) + generate_latest(computed)


def serve_metrics(port: int) -> None:
    """Serve the metrics of this process on a local port, for a separate worker."""
    start_http_server(port, addr="127.0.0.1")


# Queue metrics


class QueueGauges(Collector):
    """Gauges of the job queue. An unknown status has no gauges, because 0 would mean that all is well."""

    def __init__(self, status: QueueStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if (status := self._status) is None:
            return
        jobs = GaugeMetricFamily("kg_jobs", "Jobs by state. Failed jobs of the last day", labels=["state"])
        for state in ("queued", "running", "failed"):
            jobs.add_metric([state], getattr(status, state))
        yield jobs
        for name, about, value in (
            ("kg_jobs_waiting", "Queued jobs that are tried again later", status.waiting),
            ("kg_jobs_stalled", "Running jobs without a heartbeat of their worker", status.stalled),
            (
                "kg_jobs_oldest_waiting_seconds",
                "Time since a job could be taken",
                status.oldest_waiting_seconds,
            ),
            ("kg_backlog_age_seconds", "Age of the oldest unfinished job", status.backlog_age_seconds),
            ("kg_workers", "Workers that are there", status.alive),
        ):
            yield GaugeMetricFamily(name, about, value)


# Metrics of requests, jobs, Neo4j, providers, and embeddings. A label never contains user input, because
# every key with the scope `read` can read all metrics.

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
"""Seconds. A statement takes 1 ms, a search 15 ms, a large search 1 s. kg cancels a search after 15 s."""
EMBEDDING_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
"""Seconds. A local query takes 4 ms, a batch 1 s, and a provider up to 60 s with all retries."""
LONG_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
"""Seconds for providers and jobs."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
"""Route label of requests without a route, or rejected before routing."""


Metric = Counter | Gauge | Histogram


def _describe(
    kind: type[Metric], text: str, *labels: str, buckets: Sequence[float] = BUCKETS
) -> Callable[[str, CollectorRegistry], Metric]:
    def make(name: str, registry: CollectorRegistry) -> Metric:
        if kind is Histogram:
            return Histogram(name, text, labels, registry=registry, buckets=buckets)
        if kind is Gauge:
            return Gauge(name, text, labels, registry=registry, multiprocess_mode="livesum")
        return Counter(name, text, labels, registry=registry)

    return make


_METRICS: Final = {
    "kg_http_requests": _describe(Counter, "Requests answered.", "method", "route", "status"),
    "kg_http_request_seconds": _describe(
        Histogram, "Time from a request to the start of its response.", "method", "route"
    ),
    "kg_http_requests_open": _describe(Gauge, "Requests under way."),
    "kg_search_stage_seconds": _describe(Histogram, "One stage.", "of", "stage"),
    # a job has several runs if it yields, waits, or fails
    "kg_job_runs_begun": _describe(Counter, "Runs begun.", "kind"),
    "kg_job_runs": _describe(Counter, "Runs ended.", "kind", "outcome"),
    "kg_job_run_seconds": _describe(Histogram, "One run.", "kind", buckets=LONG_BUCKETS),
    "kg_neo4j_seconds": _describe(
        Histogram, "One try of a statement or of a transaction, waiting for a connection included.", "access"
    ),
    "kg_neo4j_failures": _describe(Counter, "Tries that failed.", "access", "error"),
    "kg_neo4j_retries": _describe(Counter, "Tries after the first.", "access"),
    "kg_neo4j_sessions_open": _describe(
        Gauge, "Sessions in progress. Each has a connection, or waits for one."
    ),
    # `kind`: task of the provider. `provider`: name of its host
    "kg_provider_request_seconds": _describe(
        Histogram, "One HTTP request.", "kind", "provider", buckets=LONG_BUCKETS
    ),
    "kg_provider_failures": _describe(Counter, "Requests that failed.", "kind", "provider", "reason"),
    "kg_provider_retries": _describe(Counter, "Requests tried again.", "kind"),
    "kg_provider_tokens": _describe(Counter, "Tokens read and written.", "kind", "provider", "direction"),
    "kg_provider_cost_dollars": _describe(
        Counter, "Money spent on models with a known price.", "kind", "provider"
    ),
    "embeddings": _describe(Counter, "Texts embedded.", "model", "dimensions"),
    "embedding_latency_seconds": _describe(
        Histogram, "Time of one call, tries and waits included.", "model", buckets=EMBEDDING_BUCKETS
    ),
    "embedding_errors": _describe(Counter, "Calls that failed.", "type"),
    "embedding_tokens": _describe(Counter, "Tokens read.", "model"),
    "embedding_probes": _describe(
        Counter, "Probe texts embedded to verify the model. Not part of the other counters.", "model"
    ),
}


class Meters:
    """Metrics of a process, by name without `kg_`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register the metrics. A registry allows one call."""
        self._metrics = {name.removeprefix("kg_"): make(name, registry) for name, make in _METRICS.items()}

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        cast("Counter", self._get(name, labels)).inc(by)

    def observe(self, name: str, *labels: str, seconds: float) -> None:
        cast("Histogram", self._get(name, labels)).observe(seconds)

    @contextmanager
    def timing(self, name: str, *labels: str) -> Generator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.observe(name, *labels, seconds=time.perf_counter() - begun)

    @contextmanager
    def under_way(self, name: str) -> Generator[None]:
        self.count(name)
        try:
            yield
        finally:
            self.count(name, by=-1)

    def _get(self, name: str, labels: tuple[str, ...]) -> Metric:
        metric = self._metrics[name]
        return metric.labels(*labels) if labels else metric


_MAKING = threading.Lock()


@cache
def _open_meters() -> Meters:
    reserve_room()
    return Meters(REGISTRY)


def get_meters() -> Meters:
    """Get the metrics of the process. They are created once, even if several threads call this first."""
    with _MAKING:
        return _open_meters()


# Token usage

CHARACTERS_A_TOKEN: Final = 4
"""Characters per token in English, for providers that do not report tokens."""


def spend_tokens(kind: str, provider: str, *, read: int, written: int, dollars: float | None) -> None:
    """Count tokens and their cost. None: unknown cost."""
    count = get_meters().count
    count("provider_tokens", kind, provider, "read", by=read)
    if written:
        count("provider_tokens", kind, provider, "written", by=written)
    if dollars is not None:
        count("provider_cost_dollars", kind, provider, by=dollars)


def estimate_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
