"""Structured logs on standard error, with the ids of request and job in each line."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
import threading
from collections import deque
from typing import TextIO

import structlog

from kg_api.settings import LogSettings

# Log stream that never fails

LOST = "log lines were lost, for they could not be written"
MAX_KEPT = 200


class ForgivingStream(io.TextIOBase):
    """Stream that buffers lines during write errors. A full buffer drops the oldest lines."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        # A buffer keeps data after a failed flush, so kg would write it twice. The raw stream does not.
        raw = getattr(getattr(stream, "buffer", None), "raw", None)
        self._raw = raw if isinstance(raw, io.RawIOBase) else None
        self._rest = b""
        """Unwritten rest of a line. It is never lost, because the next line would continue it."""
        self._lock = threading.Lock()
        self._kept: deque[str] = deque()
        self.lost = 0

    def write(self, text: str, /) -> int:
        with self._lock:
            self._kept.append(text)
            if len(self._kept) > MAX_KEPT:
                self._kept.popleft()
                self.lost += 1
            with contextlib.suppress(OSError, ValueError):  # ValueError: the stream is closed at exit
                self._finish()
                if self.lost:
                    self._put(json.dumps({"event": LOST, "lost": self.lost, "level": "warning"}) + "\n")
                    self.lost = 0
                    self._finish()
                while self._kept:
                    self._put(self._kept[0])
                    self._kept.popleft()
                    self._finish()
        return len(text)

    def flush(self) -> None:
        """Do nothing. Each write flushes."""

    def isatty(self) -> bool:
        return self._stream.isatty()

    def _put(self, text: str) -> None:
        """Write a line completely or in part. An error means that nothing was written."""
        data = text.encode(self._stream.encoding or "utf-8", "backslashreplace")
        self._rest = data[self._write(data) :]

    def _finish(self) -> None:
        while self._rest:
            self._rest = self._rest[self._write(self._rest) :]

    def _write(self, data: bytes) -> int:
        if self._raw is None:
            self._stream.write(data.decode(self._stream.encoding or "utf-8"))
            self._stream.flush()
            return len(data)
        if not (written := self._raw.write(data)):
            raise BlockingIOError
        return written


def standard_error() -> TextIO:
    return ForgivingStream(sys.stderr)  # pyright: ignore[reportReturnType] - TextIO's binary side is not used


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
