"""Metrics as Prometheus reads them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    start_http_server,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from kg_api.models.queue import QueueStatus

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SHARED_KINDS = ("counter", "histogram")
"""What prometheus_client calls the files of the metrics that kg has."""
RESERVED_BYTES = 256 * 1024
"""Room for about 1,500 values of each kind, of which kg has some dozens."""


def reserve_room() -> None:
    """Give the files that processes share their metrics by all their blocks; before the first metric is made.

    prometheus_client maps a sparse file into memory: on a full disk the first value on a new page of it ended
    the process with SIGBUS.
    """
    if (folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR")) is None:
        return
    for kind in SHARED_KINDS:
        # without room there is less of it, and the process runs all the same
        with contextlib.suppress(OSError), Path(folder, f"{kind}_{os.getpid()}.db").open("ab") as file:
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
