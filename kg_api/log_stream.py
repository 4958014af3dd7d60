"""A stream for logs that never fails: a full disk's lines are kept for later, the oldest lost and counted."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
from collections import deque
from typing import TextIO

LOST = "log lines were lost, for they could not be written"
MAX_KEPT = 200


class ForgivingStream(io.TextIOBase):
    """Writes to another stream; what cannot be written now is written when that works again."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._raw = _raw_of(stream)
        self._rest = b""
        """Of a line that was written in part: it is never lost, or the next line would go on in it."""
        self._lock = threading.Lock()
        self._kept: deque[str] = deque()
        self.lost = 0
        """Lines that are gone for good."""

    def write(self, text: str, /) -> int:
        """Write and flush; it always seems to work."""
        with self._lock:
            self._kept.append(text)
            if len(self._kept) > MAX_KEPT:
                self._kept.popleft()
                self.lost += 1
            with contextlib.suppress(OSError, ValueError):  # ValueError: it is closed, as the process ends
                self._write_kept()
        return len(text)

    def flush(self) -> None:
        """Do nothing: each write is flushed."""

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def _write_kept(self) -> None:
        self._finish()
        if self.lost:
            self._put(json.dumps({"event": LOST, "lost": self.lost, "level": "warning"}) + "\n")
            self.lost = 0
            self._finish()
        while self._kept:
            self._put(self._kept[0])
            self._kept.popleft()
            self._finish()

    def _put(self, text: str) -> None:
        """Write a line or begin it; an error means that nothing of it is written."""
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


def _raw_of(stream: TextIO) -> io.RawIOBase | None:
    """The unbuffered stream below: a buffer keeps what it could not flush, and it would be written twice."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, io.RawIOBase) else None


def standard_error() -> TextIO:
    """Standard error as a stream that never fails."""
    return ForgivingStream(sys.stderr)  # pyright: ignore[reportReturnType] - TextIO's binary side is not used
