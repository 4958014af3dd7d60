"""How long texts are for the model of a space, or nearly so where it cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kg_api.embed.port import Embedder
from kg_api.parse.size import words

TOKENS_A_WORD = 2
"""An estimate that is seldom too low: bge has 1.7 tokens a word of the PEPs, markup counted."""


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens."""

    count: Callable[[str], int]
    most: int | None
    """What the model takes at once, its query prefix deducted; None: not known."""
    estimated: bool


def counter_of(embedder: Embedder | None) -> TokenCounter:
    """A counter by a model's tokenizer; without a model by words."""
    if embedder is None:
        return TokenCounter(lambda text: TOKENS_A_WORD * words(text), None, estimated=True)
    identity = embedder.identity
    prefix = embedder.count_tokens([identity.query_prefix]) if identity.query_prefix else 0
    return TokenCounter(
        lambda text: embedder.count_tokens([text]), identity.max_tokens - prefix, estimated=False
    )
