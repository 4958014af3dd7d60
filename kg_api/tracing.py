"""OpenTelemetry spans of requests, jobs, and provider calls, and trace ids in log lines.

kg uses its own tracer, because FastAPI would add query texts to spans of the global tracer. Without an
exporter, spans cost nothing, and kg still forwards the trace of a client to logs, jobs, and providers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kg_api import __version__
from kg_api.wording import build_install_command

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

TRACEPARENT = "traceparent"  # header of W3C Trace Context
NO_SUCCESS = 400
Attribute = str | int | float | bool
_OFF = NoOpTracer()
_W3C = TraceContextTextMapPropagator()


class _Chosen:
    tracer: Tracer = _OFF


def use_tracer(tracer: Tracer | None) -> None:
    """Set the tracer of this process. None: create no spans."""
    _Chosen.tracer = tracer or _OFF


@contextmanager
def root_span(name: str, kind: SpanKind, traceparent: str | None, **attributes: Attribute) -> Generator[Span]:
    """Continue the trace of a header, or start a trace. A double underscore in an attribute becomes a dot."""
    if _Chosen.tracer is _OFF and not traceparent:
        yield trace.INVALID_SPAN
        return
    begun = _W3C.extract({TRACEPARENT: traceparent}, Context()) if traceparent else Context()
    with _span(name, kind, begun, attributes) as span:
        context = span.get_span_context()
        if not context.is_valid:
            yield span
            return
        with structlog.contextvars.bound_contextvars(trace_id=trace.format_trace_id(context.trace_id)):
            yield span


@contextmanager
def span(name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: Attribute) -> Generator[None]:
    """Create a child of the current span."""
    if _Chosen.tracer is _OFF:
        yield
        return
    with _span(name, kind, None, attributes):
        yield


def annotate(status: int, failed_from: int = NO_SUCCESS) -> None:
    """Set the HTTP status of the current span. A status from `failed_from` marks it as failed."""
    current = trace.get_current_span()
    current.set_attribute("http.response.status_code", status)
    if status >= failed_from:
        current.set_status(StatusCode.ERROR, f"HTTP {status}")


def carry_trace(headers: MutableMapping[str, str]) -> None:
    """Add the trace header for another process if there is a current trace."""
    if trace.get_current_span().get_span_context().is_valid:
        _W3C.inject(headers)


def get_traceparent() -> str | None:
    carrier: dict[str, str] = {}
    carry_trace(carrier)
    return carrier.get(TRACEPARENT)


@contextmanager
def _span(
    name: str, kind: SpanKind, parent: Context | None, attributes: dict[str, Attribute]
) -> Generator[Span]:
    """Create a span. Errors appear with their class only, because a message can contain user input."""
    dotted = {each.replace("__", "."): value for each, value in attributes.items()}
    begun = _Chosen.tracer.start_span(name, parent, kind, dotted)
    with trace.use_span(begun, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield begun
        except BaseException as error:
            begun.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


# Export to an OTLP collector over HTTP. It never blocks or fails the traced work.

log = structlog.get_logger()

SEND_SECONDS = 5.0
"""Timeout of one export in its own thread."""
END_SECONDS = 2.0
"""Time limit for unsent spans at the end of the process."""
PATH = "/v1/traces"
WITHOUT_PACKAGES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages for tracing are not installed, so kg "
    f"exports no traces. Install them in the checkout of kg: {build_install_command('tracing')}"
)


@contextmanager
def tracing(endpoint: str | None, service: str) -> Generator[None]:
    """Export the spans of this process during the block, if an endpoint is set."""
    provider = _build_provider(endpoint, service) if endpoint else None
    if provider is None:
        yield
        return
    use_tracer(provider.get_tracer("kg", __version__))
    log.info("traces are sent", endpoint=endpoint)
    try:
        yield
    finally:
        use_tracer(None)
        ending = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
        ending.start()
        ending.join(END_SECONDS)


def _build_provider(endpoint: str, service: str) -> TracerProvider | None:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        log.warning(WITHOUT_PACKAGES)
        return None
    logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)  # to omit warnings of retries
    own = Resource.create({"service.name": service, "service.version": __version__})
    provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint.rstrip("/") + PATH, timeout=SEND_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
