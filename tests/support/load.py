"""How many requests a server of ours has under way, and how long each takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


class Load:
    """Of one server."""

    def __init__(self, wait: Callable[[float], None]) -> None:
        self.takes: Callable[[dict[str, Any]], float] = lambda _: 0.0
        """Seconds that the answer to a request takes, by its body."""
        self.at_once: list[int] = []
        """For each request, how many were under way with it."""
        self._wait = wait
        self._under_way = 0
        self._counting = threading.Lock()

    @contextmanager
    def of(self, body: dict[str, Any]) -> Generator[None]:
        """Count a request among those under way, and take as long as one does."""
        with self._counting:
            self._under_way += 1
            self.at_once.append(self._under_way)
        try:
            self._wait(self.takes(body))
            yield
        finally:
            with self._counting:
                self._under_way -= 1
