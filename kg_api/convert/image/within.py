"""Pictures within documents: those that are worth a source of their own, within bounds."""

from __future__ import annotations

import hashlib
import time
from collections import Counter

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.document import read_image
from kg_api.errors import UnreadableDocument
from kg_api.models.images import ReadImage

MIN_SIDE = 32
"""Pixels: what is smaller both ways is an icon, a bullet or a spacer."""
MAX_IMAGES = 500
_SHARE, _MEMORY = 0.5, 1 / 8
"""Of the time that a file may take, and of the memory: an answer holds the files of all pictures, twice."""
_OTHERS = "pictures of other kinds than are read, or damaged"


class ImagesWithin:
    """Reads the pictures of one document; the same one twice is read once."""

    def __init__(self, settings: ConversionSettings) -> None:
        self._settings = settings
        self._ends = time.monotonic() + _SHARE * settings.max_seconds
        self._known: dict[bytes, ReadImage | None] = {}
        self._count, self._bytes = 0, 0
        self._most = _MEMORY * settings.max_memory_mb * 1024 * 1024
        self._left_out: Counter[str] = Counter()

    def read(self, content: bytes | None) -> ReadImage | None:
        """A picture by its file; None: it is none that is taken, or its file is not at hand."""
        if content is None or not self.has_room():
            return None
        key = hashlib.sha256(content).digest()
        if key not in self._known:
            self._known[key] = self._read(content)
        found = self._known[key]
        if found:
            self._count += 1
            self._bytes += len(found.content)
        return found

    def has_room(self) -> bool:
        """Whether another one is taken, before it is made ready; what there is no room for is counted."""
        if not self._settings.images_within:
            return False
        room = self._count < MAX_IMAGES and self._bytes < self._most and time.monotonic() <= self._ends
        if not room:
            self._left_out[f"pictures beyond the first {self._count:,}"] += 1
        return room

    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        return tuple(f"left out: {what} ({count:,})" for what, count in self._left_out.items())

    def _read(self, content: bytes) -> ReadImage | None:
        try:
            found = read_image(content, self._settings)
        except UnreadableDocument:
            self._left_out[_OTHERS] += 1
            return None
        return None if max(found.width, found.height) < MIN_SIDE else found
