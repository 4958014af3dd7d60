"""Metrics as Prometheus reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import structlog
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    start_http_server,
    values,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from kg_api.models.queue import QueueStatus

log = structlog.get_logger()

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SHARED_KINDS = ("counter", "histogram")
"""What prometheus_client calls the files of the metrics that kg has."""
RESERVED_BYTES = 64 * 1024
"""Room for about 380 values of each kind, of which kg has some dozens; what prometheus_client begins with."""


def reserve_room() -> None:
    """Give the files that processes share their metrics by all their blocks; before the first metric is made.

    prometheus_client maps a sparse file into memory: on a full disk the first value on a new page of it ends
    the process with SIGBUS. Where there is no room, this process keeps its metrics to itself, and says so.
    """
    if (folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR")) is None:
        return
    files = [Path(folder, f"{kind}_{os.getpid()}.db") for kind in SHARED_KINDS]
    try:
        for each in files:
            _fill(each)
    except OSError as error:
        for each in files:
            each.unlink(missing_ok=True)
        values.ValueClass = values.MutexValue
        log.warning("metrics of this process are not shared: there is no room for them", reason=str(error))


def _fill(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(max(RESERVED_BYTES - file.tell(), 0)))


class QueueGauges(Collector):
    """The queue's status as gauges; none when it is not known, for 0 would say that all is well."""

    def __init__(self, status: QueueStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give the gauges."""
        if (status := self._status) is None:
            return
        jobs = GaugeMetricFamily("kg_jobs", "Jobs by state; dead ones of the last day", labels=["state"])
        for state in ("queued", "running", "dead"):
            jobs.add_metric([state], getattr(status, state))
        yield jobs
        yield GaugeMetricFamily("kg_jobs_waiting", "Queued jobs that are tried again later", status.waiting)
        yield GaugeMetricFamily("kg_jobs_stalled", "Running jobs whose worker is lost", status.stalled)
        yield GaugeMetricFamily(
            "kg_jobs_oldest_waiting_seconds",
            "For how long a job could have been taken and was not",
            status.oldest_waiting_seconds,
        )
        yield GaugeMetricFamily(
            "kg_backlog_age_seconds", "Age of the oldest unfinished job", status.backlog_age_seconds
        )
        yield GaugeMetricFamily("kg_workers", "Workers that are there", status.alive)


def exposition(*more: Collector) -> bytes:
    """All metrics as text: of every process that shares PROMETHEUS_MULTIPROC_DIR, else of this one.

    Args:
        more: what is worked out for this answer alone.
    """
    return b"".join(generate_latest(each) for each in (_of_processes(), _registry(*more)))


def _of_processes() -> CollectorRegistry:
    together = CollectorRegistry()
    try:
        MultiProcessCollector(together)
    except ValueError:  # the variable is not set
        return REGISTRY
    return together


def _registry(*collectors: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    for each in collectors:
        registry.register(each)
    return registry


def serve_metrics(port: int) -> None:
    """Show this process's metrics on a port of this machine; for a worker that stands alone."""
    start_http_server(port, addr="127.0.0.1")
