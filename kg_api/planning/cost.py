"""What embedding will take: chunks, tokens, seconds and money, before anything is embedded."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.chunk.context import contextual
from kg_api.embed.port import Embedder
from kg_api.models.configuration import Cost
from kg_api.planning.planner import PlannedChunk
from kg_api.spaces.probe import PROBE_TEXT

TIMED_TEXTS = 8
USUAL_TEXT = " ".join([PROBE_TEXT] * 6)
"""About 120 tokens."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Sampled:
    """The chunks of some documents, standing for those of all."""

    chunks: Sequence[PlannedChunk]
    sampled_documents: int
    documents: int
    sources: int
    factor: float
    """How many times the sample's text all the text is."""


def cost_of(sampled: Sampled, embedder: Embedder, price: float | None, speed: float | None) -> Cost:
    """Count tokens with the space's own tokenizer.

    Args:
        sampled: chunks as they would be embedded.
        embedder: the space's model.
        price: US dollars for a million tokens; None when it is not known.
        speed: tokens a second; None when it is not known.
    """
    texts = [contextual(chunk.before, chunk.text) for chunk in sampled.chunks]
    tokens = math.ceil(embedder.count_tokens(texts) * sampled.factor)
    return Cost(
        documents=sampled.documents,
        sampled_documents=sampled.sampled_documents,
        sources=sampled.sources,
        chunks=math.ceil(len(texts) * sampled.factor),
        tokens=tokens,
        seconds=(None if speed is None else round(tokens / speed, 1)) if texts else 0.0,
        price=None if price is None else round(tokens * price / MILLION, 6),
        notes=_notes(sampled, speed=speed, price=price),
    )


def tokens_a_second(embedder: Embedder) -> float:
    """Embed a few texts of the usual length and look at the clock."""
    texts = [f"{number} {USUAL_TEXT}" for number in range(TIMED_TEXTS)]
    begun = time.perf_counter()
    embedder.embed_passages(texts)
    return max(1, embedder.count_tokens(texts)) / max(time.perf_counter() - begun, 1e-6)


def _notes(sampled: Sampled, *, speed: float | None, price: float | None) -> list[str]:
    notes: list[str] = []
    if sampled.sampled_documents < sampled.documents:
        notes.append(f"estimated from {sampled.sampled_documents} of {sampled.documents} documents")
    if speed is None and sampled.chunks:
        notes.append("the time depends on the provider, which was not asked")
    if price is None:
        notes.append("the model's price is not known; set KG_EMBEDDING__PRICE")
    return notes
