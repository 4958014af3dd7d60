from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kg_api.providers.remote_embedding import KNOWN_GOOD
from kg_api.spaces.open_spaces import PROBE_TEXT
from tests.support.behaviours import Behaviour
from tests.support.embedding_server import EmbeddingServer, Request


@dataclass
class Model:
    provider: Provider
    name: str
    dimensions: int
    always: Behaviour | None = None
    """Behaviour to use for a request if no other is set. If this is None, the server works normally."""
    turned: bool = False
    """Whether to use another model under the same name."""
    told: deque[Behaviour | None] = field(default_factory=deque[Behaviour | None])

    def then(self, *behaviours: Behaviour | None) -> None:
        self.told.extend(behaviours)

    @property
    def requests(self) -> list[Request]:
        return [each for each in self.provider.requests if each.body.get("model") == self.name]

    @property
    def passages(self) -> list[list[str]]:
        own = {PROBE_TEXT, KNOWN_GOOD}
        asked = [[text for text in each.body["input"] if text not in own] for each in self.requests]
        return [texts for texts in asked if texts]


class Provider(EmbeddingServer):
    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.models: dict[str, Model] = {}

    def model(self, name: str, dimensions: int = 64) -> Model:
        self.dimensions.setdefault(name, dimensions)
        return self.models.setdefault(name, Model(self, name, dimensions))

    def calm(self) -> None:
        for model in self.models.values():
            model.always, model.turned = None, False
            model.told.clear()

    def next_behaviour(self, body: dict[str, Any]) -> Behaviour | None:
        model = self.models.get(body.get("model", ""))
        if model is None:
            return super().next_behaviour(body)
        return model.told.popleft() if model.told else model.always

    def vectors(self, model: str, texts: list[str], dimensions: int | None) -> list[list[float]]:
        """Return vectors. If another model is used, the numbers are in other places, so that the cosine
        is about 0."""
        found = super().vectors(model, texts, dimensions)
        known = self.models.get(model)
        return np.roll(found, 1, axis=1).tolist() if known and known.turned else found
