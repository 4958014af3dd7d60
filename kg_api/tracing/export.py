"""Sending spans to a collector, by OTLP over HTTP; what it does never waits, and never fails, for that."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from kg_api import __version__
from kg_api.tracing.spans import use_tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

log = structlog.get_logger()

SEND_SECONDS = 5.0
"""How long one attempt to send may take, in a thread of its own."""
END_SECONDS = 2.0
"""How long the end of a process waits for spans that are not sent yet."""
PATH = "/v1/traces"
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
WITHOUT_PACKAGES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages for tracing are not installed, so nothing is "
    "traced; in kg's checkout: .venv/bin/python -m pip install '.[tracing]'"
)


def is_installed() -> bool:
    """Whether the packages for tracing are there."""
    try:
        return importlib.util.find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # of a part of that name
        return False


@contextmanager
def tracing(endpoint: str | None, service: str) -> Generator[None]:
    """Send the spans of this process, while within.

    Args:
        endpoint: the address of a collector, without the path; None: nothing is traced.
        service: what the process is, for the collector; OTEL_SERVICE_NAME goes before it.
    """
    provider = _provider(endpoint, service) if endpoint else None
    if provider is None:
        yield
        return
    use_tracer(provider.get_tracer("kg", __version__))
    log.info("traces are sent", endpoint=endpoint)
    try:
        yield
    finally:
        use_tracer(None)
        _end(provider)


def _provider(endpoint: str, service: str) -> TracerProvider | None:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        log.warning(WITHOUT_PACKAGES)
        return None
    logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)  # else it warns of every retry
    own = Resource.create({"service.name": service, "service.version": __version__})
    provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint.rstrip("/") + PATH, timeout=SEND_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _end(provider: TracerProvider) -> None:
    """Send what is left, if that is soon; a collector that does not answer holds nobody up."""
    ending = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
    ending.start()
    ending.join(END_SECONDS)
