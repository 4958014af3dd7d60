"""Metrics as Prometheus reads them."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def exposition() -> bytes:
    """All metrics as text: of every process that shares PROMETHEUS_MULTIPROC_DIR, else of this one."""
    together = CollectorRegistry()
    try:
        MultiProcessCollector(together)
    except ValueError:  # the variable is not set
        return generate_latest(REGISTRY)
    return generate_latest(together)


def serve_metrics(port: int) -> None:
    """Show this process's metrics on a port of this machine; for a worker that stands alone."""
    start_http_server(port, addr="127.0.0.1")
