"""Structured logs on standard error; each line carries the request's or job's ids."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog

from kg_api.log_stream import standard_error
from kg_api.settings import LogSettings

_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=20)
)
"""Without local variables: they may hold a key, or a document."""


def configure_logs(settings: LogSettings) -> None:
    """Set up logging for this process; the libraries' own warnings go the same way."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    stream = standard_error()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[structlog.typing.Processor] = (
        [_TRACEBACKS, structlog.processors.JSONRenderer()]
        if settings.format == "json"
        else [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    )
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _route_libraries(stream, level, shared, renderers)


def _route_libraries(
    stream: TextIO,
    level: int,
    shared: list[structlog.typing.Processor],
    renderers: list[structlog.typing.Processor],
) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    logging.getLogger("neo4j").setLevel(logging.ERROR)  # it warns of every retry; a retry is no fault
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
