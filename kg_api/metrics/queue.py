"""The queue as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kg_api.models.queue import QueueStatus


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
