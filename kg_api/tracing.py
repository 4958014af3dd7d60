"""Spans, from request to job to provider, and the id of their trace on each line of the log.

Nobody but kg makes spans here: the tracer is kg's own and not the library's global one, which FastAPI's would
fill with the texts of questions. Without an exporter a span costs nothing, and a trace that a client began is
carried on all the same: into the log, jobs and requests to providers.
"""

from __future__ import annotations

import importlib.util
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

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

TRACEPARENT = "traceparent"
"""The header of the W3C's Trace Context."""
NO_SUCCESS = 400
Attribute = str | int | float | bool
_OFF = NoOpTracer()
_W3C = TraceContextTextMapPropagator()


class _Chosen:
    tracer: Tracer = _OFF


def use_tracer(tracer: Tracer | None) -> None:
    """Make this process's spans by a tracer from now on; None: make none."""
    _Chosen.tracer = tracer or _OFF


@contextmanager
def root_span(name: str, kind: SpanKind, traceparent: str | None, **attributes: Attribute) -> Generator[Span]:
    """Continue the span of a header, or begin a trace; attributes have dots for double underscores."""
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
    """A span within the one at hand."""
    if _Chosen.tracer is _OFF:
        yield
        return
    with _span(name, kind, None, attributes):
        yield


def annotate(status: int, failed_from: int = NO_SUCCESS) -> None:
    """Say what HTTP status the span at hand has come to, and whether that is a failure of who is traced."""
    current = trace.get_current_span()
    current.set_attribute("http.response.status_code", status)
    if status >= failed_from:
        current.set_status(StatusCode.ERROR, f"HTTP {status}")


def carry_trace(headers: MutableMapping[str, str]) -> None:
    """Add the header by which another process goes on with the trace at hand, if there is one."""
    if trace.get_current_span().get_span_context().is_valid:
        _W3C.inject(headers)


def current_traceparent() -> str | None:
    carrier: dict[str, str] = {}
    carry_trace(carrier)
    return carrier.get(TRACEPARENT)


@contextmanager
def _span(
    name: str, kind: SpanKind, parent: Context | None, attributes: dict[str, Attribute]
) -> Generator[Span]:
    """An error is told by its class alone: its message may hold what a user wrote."""
    dotted = {each.replace("__", "."): value for each, value in attributes.items()}
    begun = _Chosen.tracer.start_span(name, parent, kind, dotted)
    with trace.use_span(begun, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield begun
        except BaseException as error:
            begun.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


# Sending spans to a collector, by OTLP over HTTP; what it does never waits, and never fails, for that.

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
    try:
        return importlib.util.find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # of a part of that name
        return False


@contextmanager
def tracing(endpoint: str | None, service: str) -> Generator[None]:
    """Send the spans of this process to a collector, if there is one, while within."""
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
