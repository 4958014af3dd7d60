"""The last backup as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector


class BackupGauges(Collector):
    """When the last whole backup was begun, and whether the last one failed; none where there was none."""

    def __init__(self, made: float | None, *, failed: bool | None) -> None:
        """Tell of backups.

        Args:
            made: seconds since 1970; None: there is no whole one.
            failed: whether the last attempt came to nothing; None: there was none.
        """
        self._made = made
        self._failed = failed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self._made is not None:
            yield GaugeMetricFamily(
                "kg_backup_made_seconds", "When the last whole backup was begun, since 1970", self._made
            )
        if self._failed is not None:
            yield GaugeMetricFamily(
                "kg_backup_failed", "Whether the last backup came to nothing", float(self._failed)
            )
