"""Whether the models answered a few seconds ago: asking one costs money, and a GET should not."""

from __future__ import annotations

import threading
import time

from kg_api.configure.models import ModelService
from kg_api.models.embedding.spaces import EmbeddingHealth

REMEMBERED_SECONDS = 30.0


class ModelHealth:
    """Remembers what the models answered."""

    def __init__(self) -> None:
        self._health: EmbeddingHealth | None = None
        self._checked_at = float("-inf")
        self._checking = threading.Lock()

    def health(self, models: ModelService) -> EmbeddingHealth:
        """What they answered within the last half minute; they are asked when that is longer ago."""
        with self._checking:
            age = time.monotonic() - self._checked_at
            if self._health is None or age > REMEMBERED_SECONDS:
                return self._check(models)
            return self._health.model_copy(update={"age_seconds": round(age, 1)})

    def check(self, models: ModelService) -> EmbeddingHealth:
        """What they answer now."""
        with self._checking:
            return self._check(models)

    def _check(self, models: ModelService) -> EmbeddingHealth:
        self._health = models.health()
        self._checked_at = time.monotonic()
        return self._health
