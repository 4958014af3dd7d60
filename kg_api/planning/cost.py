"""What embedding will take: chunks, tokens, seconds and money, before anything is embedded."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.chunk.context import contextual
from kg_api.embed.port import Embedder
from kg_api.models.embedding.configuration import Cost
from kg_api.planning.planner import PlannedChunk
from kg_api.spaces.probe import PROBE_TEXT

TIMED_TEXTS = 8
USUAL_TEXT = " ".join([PROBE_TEXT] * 6)
"""About 120 tokens."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CostSample:
    """The chunks of some documents, standing for those of all."""

    chunks: Sequence[PlannedChunk]
    sampled_documents: int
    documents: int
    sources: int
    factor: float
    """How many times the sample's text all the text is."""


@dataclass(frozen=True, slots=True)
class WrittenContexts:
    """What a language model would be asked to write for the sample; estimated."""

    contexts: int
    remembered: int
    """Contexts that were written before, and cost nothing."""
    requests: int
    read: int
    """Tokens that it reads."""
    written: int
    """Tokens that it writes."""
    price: float | None
    """US dollars for all of that; None when it is not known."""


def cost_of(
    sampled: CostSample,
    embedder: Embedder,
    price: float | None,
    speed: float | None,
    written: WrittenContexts | None = None,
) -> Cost:
    """Count tokens with the space's own tokenizer.

    Args:
        sampled: chunks as they would be embedded.
        embedder: the space's model.
        price: US dollars for a million tokens; None when it is not known.
        speed: tokens a second; None when it is not known.
        written: contexts by a language model; None when it writes none.
    """
    if written is not None and written.contexts:
        speed = None  # the language model takes longer than the vectors
    texts = [contextual(chunk.before, chunk.text) for chunk in sampled.chunks]
    windows = {chunk.within.text for chunk in sampled.chunks if chunk.within}
    tokens = math.ceil(embedder.count_tokens([*texts, *sorted(windows)]) * sampled.factor)
    return Cost(
        documents=sampled.documents,
        sampled_documents=sampled.sampled_documents,
        sources=sampled.sources,
        chunks=math.ceil(len(texts) * sampled.factor),
        tokens=tokens,
        seconds=(None if speed is None else round(tokens / speed, 1)) if texts else 0.0,
        price=None if price is None else tokens * price / MILLION,
        context_price=_context_price(written, sampled.factor),
        notes=_notes(sampled, speed=speed, price=price, written=written),
    )


def tokens_a_second(embedder: Embedder) -> float:
    """Embed a few texts of the usual length and look at the clock."""
    texts = [f"{number} {USUAL_TEXT}" for number in range(TIMED_TEXTS)]
    begun = time.perf_counter()
    embedder.embed_passages(texts)
    return max(1, embedder.count_tokens(texts)) / max(time.perf_counter() - begun, 1e-6)


def _context_price(written: WrittenContexts | None, factor: float) -> float | None:
    return None if written is None or written.price is None else round(written.price * factor, 6)


def _notes(
    sampled: CostSample, *, speed: float | None, price: float | None, written: WrittenContexts | None
) -> list[str]:
    notes: list[str] = []
    if sampled.sampled_documents < sampled.documents:
        notes.append(f"estimated from {sampled.sampled_documents} of {sampled.documents} documents")
    elif sampled.factor > 1:
        notes.append(f"estimated from 1 of {sampled.factor:.1f} parts of it")
    if speed is None and sampled.chunks:
        notes.append("the time depends on the provider, which was not asked")
    if any(chunk.within for chunk in sampled.chunks):
        notes.append("context late: the model reads each chunk twice, by itself and among its neighbours")
    if price is None:
        notes.append("the model's price is not known; set KG_EMBEDDING__PRICE")
    return notes if written is None else notes + _notes_of(written, sampled.factor)


def _notes_of(written: WrittenContexts, factor: float) -> list[str]:
    contexts, requests, read, wrote = (
        math.ceil(each * factor)
        for each in (written.contexts, written.requests, written.read, written.written)
    )
    told = (
        f"a language model writes about {contexts} contexts in {requests} requests: about {read} tokens "
        f"read, {wrote} written, before any discount for what its provider has just read"
    )
    notes = [told] if contexts else []
    if written.remembered:
        notes.append(
            f"about {math.ceil(written.remembered * factor)} contexts were written before and cost nothing"
        )
    if written.contexts or written.remembered:
        notes.append("the tokens to embed are counted with contexts of the usual length, about 40 words each")
    if written.price is None and contexts:
        notes.append("the price of contexts is not known; set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT")
    return notes
