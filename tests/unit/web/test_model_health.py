from __future__ import annotations

from typing import cast

from kg_api.schemas.spaces import EmbeddingHealth
from kg_api.spaces.estimate import ModelService
from kg_api.web.shared.health import ModelHealth


class Models:
    """Counts how often the models are asked."""

    asked = 0

    def health(self) -> EmbeddingHealth:
        self.asked += 1
        return EmbeddingHealth(status="ok", spaces=[])


def test_reading_their_health_does_not_ask_the_models_each_time_and_checking_does() -> None:
    models, watch = Models(), ModelHealth()
    service = cast("ModelService", models)
    for _ in range(5):
        assert watch.health(service).status == "ok"
    assert models.asked == 1
    watch.check(service)
    assert models.asked == 2
    assert watch.health(service).age_seconds >= 0
    assert models.asked == 2
