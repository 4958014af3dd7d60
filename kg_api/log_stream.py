"""A stream for logs that never fails: on a full disk lines are lost and counted, and nobody is hindered."""

from __future__ import annotations

import io
import json
import sys
import threading
from typing import TextIO

LOST = "log lines were lost, for they could not be written"


class ForgivingStream(io.TextIOBase):
    """Writes to another stream; what cannot be written is counted, and told when writing works again."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lock = threading.Lock()
        self.lost = 0
        """Writes that failed since the last one that worked."""

    def write(self, text: str, /) -> int:
        """Write and flush; it always seems to work."""
        with self._lock:
            try:
                self._tell_of_lost()
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # ValueError: the stream is closed, at the end of the process
                self.lost += 1
        return len(text)

    def flush(self) -> None:
        """Do nothing: each write is flushed."""

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def _tell_of_lost(self) -> None:
        if not self.lost:
            return
        self._stream.write(json.dumps({"event": LOST, "lost": self.lost, "level": "warning"}) + "\n")
        self._stream.flush()
        self.lost = 0


def standard_error() -> TextIO:
    """Standard error as a stream that never fails."""
    return ForgivingStream(sys.stderr)  # pyright: ignore[reportReturnType] - TextIO's binary side is not used
