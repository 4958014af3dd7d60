"""Spans, from request to job to provider, and the id of their trace on each line of the log.

Nobody but kg makes spans here: the tracer is kg's own and not the library's global one, which FastAPI's would
fill with the texts of questions. Without an exporter a span costs nothing, and a trace that a client began is
carried on all the same: into the log, jobs and requests to providers.
"""

from __future__ import annotations

from collections.abc import Generator, MutableMapping
from contextlib import contextmanager

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

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
    """A span that goes on where a header says, or begins a trace; the log tells its id within.

    Args:
        name: of few: it is shown in lists.
        kind: what it does for others.
        traceparent: what a request or a job brought; what is none is left out.
        attributes: more of it, with dots for double underscores.
    """
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
        current.set_status(StatusCode.ERROR)


def carry_trace(headers: MutableMapping[str, str]) -> None:
    """Add the header by which another process goes on with the trace at hand, if there is one."""
    if trace.get_current_span().get_span_context().is_valid:
        _W3C.inject(headers)


def current_traceparent() -> str | None:
    """The same as a value to be kept."""
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
