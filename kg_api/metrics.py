"""Prometheus metrics of a process, and the tokens that a key spends at providers."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

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

# The last backup as Prometheus reads it.


class BackupGauges(Collector):
    """When the last whole backup was begun, and whether the last attempt failed; None: there was none."""

    def __init__(self, made: float | None, *, failed: bool | None) -> None:
        self._made = made
        self._failed = failed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self._made is not None:
            about = "When the last whole backup was begun, since 1970"
            yield GaugeMetricFamily("kg_backup_made_seconds", about, self._made)
        if self._failed is not None:
            about = "Whether the last backup came to nothing"
            yield GaugeMetricFamily("kg_backup_failed", about, float(self._failed))


# The files in which processes share their metrics, in the folder that PROMETHEUS_MULTIPROC_DIR names.

log = structlog.get_logger()

KIB = 1024
RESERVED_BYTES = {"counter": 256 * KIB, "histogram": 1024 * KIB, "gauge_livesum": 16 * KIB}
"""Of a process, by what prometheus_client calls the files of the metrics that kg has: room for every value of
every route, stage and kind (`tests/unit/metrics/test_room.py`)."""
_LIVE = re.compile(r"gauge_live[a-z]+_(\d+)\.db")


def shared_folder() -> Path | None:
    """Where the processes of this kg share their metrics; None: each keeps them to itself."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return Path(folder) if folder else None


def reserve_room() -> None:
    """Give the files that processes share their metrics by all their blocks; before the first metric is made.

    prometheus_client maps a sparse file into memory: on a full disk the first value on a new page of it ends
    the process with SIGBUS. Where there is no room, this process keeps its metrics to itself, and says so.
    """
    if (folder := shared_folder()) is None:
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
        log.warning("metrics of this process are not shared: there is no room for them", reason=str(error))


def forget_dead() -> None:
    """Take away what processes that have ended had under way; what they counted stays."""
    if (folder := shared_folder()) is None:
        return
    for path in folder.glob("gauge_live*.db"):
        found = _LIVE.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found[1])):
            path.unlink(missing_ok=True)


# All metrics as Prometheus reads them.

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def exposition(*more: Collector) -> bytes:
    """Return all metrics as text, of every process that shares them, with more that are computed now."""
    forget_dead()
    counted, computed = REGISTRY, CollectorRegistry()
    if (folder := shared_folder()) and folder.is_dir():
        MultiProcessCollector(counted := CollectorRegistry())
    for each in more:
        computed.register(each)
    return generate_latest(counted) + generate_latest(computed)


def serve_metrics(port: int) -> None:
    """Show this process's metrics on a port of this machine; for a worker that stands alone."""
    start_http_server(port, addr="127.0.0.1")


# The queue as Prometheus reads it.


class QueueGauges(Collector):
    """The queue's status as gauges; none when it is not known, for 0 would say that all is well."""

    def __init__(self, status: QueueStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if (status := self._status) is None:
            return
        jobs = GaugeMetricFamily("kg_jobs", "Jobs by state; dead ones of the last day", labels=["state"])
        for state in ("queued", "running", "dead"):
            jobs.add_metric([state], getattr(status, state))
        yield jobs
        for name, about, value in (
            ("kg_jobs_waiting", "Queued jobs that are tried again later", status.waiting),
            ("kg_jobs_stalled", "Running jobs whose worker is lost", status.stalled),
            (
                "kg_jobs_oldest_waiting_seconds",
                "Time since a job could be taken",
                status.oldest_waiting_seconds,
            ),
            ("kg_backlog_age_seconds", "Age of the oldest unfinished job", status.backlog_age_seconds),
            ("kg_workers", "Workers that are there", status.alive),
        ):
            yield GaugeMetricFamily(name, about, value)


# One set of metrics for each process.

T = TypeVar("T")

_MAKING = threading.RLock()


def once_per_process(make: Callable[[], T]) -> Callable[[], T]:
    """Call a function once and keep its result, even if several threads call it first."""
    made = cache(make)

    @wraps(make)
    def get() -> T:
        with _MAKING:
            return made()

    return get


# What a process counts and times, beside its embeddings: numbers, and names that code or settings give.
#
# No label is anything that a user wrote: whoever has a key that reads may read them all.

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
"""Seconds: a statement takes 1 ms, a search 15, a large one a second; beyond 15 s one is given up."""
LONG_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
"""Seconds of what providers and jobs do."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
"""Of requests that were refused before they came to a route, or for which there is none."""


Metric = Counter | Gauge | Histogram


def _described(
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
    "kg_http_requests": _described(Counter, "Requests answered.", "method", "route", "status"),
    "kg_http_request_seconds": _described(
        Histogram, "From a request to the beginning of its answer.", "method", "route"
    ),
    "kg_http_requests_open": _described(Gauge, "Requests under way."),
    "kg_search_stage_seconds": _described(Histogram, "One stage.", "of", "stage"),
    # A job has several runs where it yields, waits or fails
    "kg_job_runs_begun": _described(Counter, "Runs begun.", "kind"),
    "kg_job_runs": _described(Counter, "Runs ended.", "kind", "outcome"),
    "kg_job_run_seconds": _described(Histogram, "One run.", "kind", buckets=LONG_BUCKETS),
    "kg_neo4j_seconds": _described(
        Histogram, "One try of a statement or of a transaction, waiting for a connection included.", "access"
    ),
    "kg_neo4j_failures": _described(Counter, "Tries that failed.", "access", "error"),
    "kg_neo4j_retries": _described(Counter, "Tries after the first.", "access"),
    "kg_neo4j_sessions_open": _described(
        Gauge, "Sessions under way; each has a connection, or waits for one."
    ),
    # `kind` is what a provider does, `provider` the name of its host
    "kg_provider_request_seconds": _described(
        Histogram, "One HTTP request.", "kind", "provider", buckets=LONG_BUCKETS
    ),
    "kg_provider_failures": _described(Counter, "Requests that failed.", "kind", "provider", "reason"),
    "kg_provider_retries": _described(Counter, "Requests tried again.", "kind"),
    "kg_provider_tokens": _described(Counter, "Tokens read and written.", "kind", "provider", "direction"),
    "kg_provider_cost_dollars": _described(
        Counter, "Money spent where a price is known.", "kind", "provider"
    ),
}


class Meters:
    """All metrics of a process but those of its embeddings, by their names without `kg_`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics = {name: make(name, registry) for name, make in _METRICS.items()}

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        cast("Counter", self._of(name, labels)).inc(by)

    def observe(self, name: str, *labels: str, seconds: float) -> None:
        cast("Histogram", self._of(name, labels)).observe(seconds)

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

    def _of(self, name: str, labels: tuple[str, ...]) -> Metric:
        metric = self._metrics[f"kg_{name}"]
        return metric.labels(*labels) if labels else metric


@once_per_process
def meters() -> Meters:
    reserve_room()
    return Meters(REGISTRY)


# What providers are paid for: counted, and bounded for those who have a budget.

CHARACTERS_A_TOKEN: Final = 4
"""Of English, as a rule of thumb; where a provider does not say how many tokens there were."""


class TokenBudget(Protocol):
    """What somebody may spend."""

    def require(self) -> None:
        """Raise RateExceeded if nothing is left, saying when there will be."""
        ...

    def spend(self, tokens: int) -> None: ...


_BUDGET: Final[ContextVar[TokenBudget | None]] = ContextVar("budget", default=None)


@contextmanager
def within_budget(budget: TokenBudget | None) -> Generator[None]:
    """Let what is done here be spent of a budget; None: there is no bound."""
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def require_budget() -> None:
    """Raise RateExceeded if the caller's budget is used up."""
    if budget := _BUDGET.get():
        budget.require()


def spend_tokens(kind: str, provider: str, *, read: int, written: int, dollars: float | None) -> None:
    """Count tokens, and what they cost; None: nobody knows."""
    count = meters().count
    count("provider_tokens", kind, provider, "read", by=read)
    if written:
        count("provider_tokens", kind, provider, "written", by=written)
    if dollars is not None:
        count("provider_cost_dollars", kind, provider, by=dollars)
    if budget := _BUDGET.get():
        budget.spend(read + written)


def estimate_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
