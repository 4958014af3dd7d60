"""Structured logs on standard error, with the ids of request and job in each line."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import threading
from typing import TextIO, cast

import structlog

from kg_api.settings import LogSettings


class ForgivingStream(io.TextIOBase):
    """Stream that ignores write errors, as on a full disk. No request fails because of a log line."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, text: str, /) -> int:
        with self._lock, contextlib.suppress(OSError, ValueError):  # ValueError: the stream is closed at exit
            self._stream.write(text)
            self._stream.flush()
        return len(text)


# Configuration of structlog

_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=20)
)
"""Renderer of tracebacks without local variables, which can contain a key or document."""


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


_LINES = "\n\t"  # allowed in a traceback


def escape_controls(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape control characters. User input must not control the reader's terminal."""
    return {
        _escape(name): _escape(value, keep=_LINES if name == "exception" else "")
        if isinstance(value, str)
        else value
        for name, value in event.items()
    }


def _escape(text: str, keep: str = "") -> str:
    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else found[0].encode("unicode_escape").decode()

    return _CONTROLS.sub(escape, text)


def configure_logs(settings: LogSettings) -> None:
    """Configure logging of this process, including warnings of libraries."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    stream = cast("TextIO", ForgivingStream(sys.stderr))
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[structlog.typing.Processor] = (
        [_TRACEBACKS, structlog.processors.JSONRenderer()]
        if settings.format == "json"
        else [
            structlog.processors.format_exc_info,
            escape_controls,
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    )
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    logging.getLogger("neo4j").setLevel(logging.ERROR)  # the driver warns of each retry
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
