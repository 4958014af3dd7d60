"""How many tokens passages have: by the tokenizer of a space's model, or estimated without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.embed.port import Embedder
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.open_space import OpenSpace

BYTES_A_TOKEN = 2
"""Rather too many tokens than too few: texts in 12 languages have 2.1 (Greek, Russian) to 4.9 (English)."""


@dataclass(frozen=True, slots=True)
class ModelTokenCounter:
    """Counts tokens without what a model puts around each text."""

    embedder: Embedder | None
    problem: str | None = None
    """Why it estimates, if it does."""

    def __call__(self, texts: Sequence[str]) -> list[int]:
        if self.embedder is None:
            return [estimate_tokens(text) for text in texts]
        around = self.embedder.count_tokens([""])
        return [max(0, self.embedder.count_tokens([text]) - around) for text in texts]


def token_counter(opened: OpenSpace) -> ModelTokenCounter:
    """The counter of a space; it estimates, and says so, when the model cannot be opened."""
    try:
        return ModelTokenCounter(opened.embedder())
    except FAULTS as error:
        told = f"tokens are estimated, half of the bytes: the model's tokenizer is not at hand ({error})"
        return ModelTokenCounter(None, told)


def estimate_tokens(text: str) -> int:
    """A careful guess for any model."""
    return math.ceil(len(text.encode()) / BYTES_A_TOKEN)
