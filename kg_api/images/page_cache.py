"""Pages that were drawn lately, in memory: a page is asked for again while somebody reads it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from kg_api.models.images import DrawnPage

MAX_BYTES = 32 * 1024 * 1024
"""Of each process of the service: about a hundred pages of text."""


class PageCache:
    """Keeps the latest, no more than so many bytes of them. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._pages: OrderedDict[str, DrawnPage] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> DrawnPage | None:
        """A page that was put, if it is still there."""
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)

    def put(self, key: str, page: DrawnPage) -> None:
        """Keep a page; those that were not asked for longest go for it. One that is too large is not kept."""
        with self._lock:
            if key in self._pages or len(page.content) > self._max_bytes:
                return
            self._pages[key] = page
            self._bytes += len(page.content)
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._pages.popitem(last=False)[1].content)
