"""Embedding spaces: one model with its settings."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """Everything that decides what a vector of this space looks like."""

    provider: str
    model: str
    revision: str
    """The weights' sha256 for a local model, the provider's own name for it otherwise."""
    dimensions: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when any part of the identity does."""
        return hashlib.sha256("\x1f".join(map(str, astuple(self))).encode()).hexdigest()[:16]
