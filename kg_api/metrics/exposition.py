"""All metrics as Prometheus reads them."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from kg_api.metrics.files import forget_dead

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def exposition(*more: Collector) -> bytes:
    """All metrics as text: of every process that shares PROMETHEUS_MULTIPROC_DIR, else of this one.

    Args:
        more: what is worked out for this answer alone.
    """
    forget_dead()
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
