"""Embedders for tests."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.spaces.calibration import PAIRS

CALIBRATING = [text for pair in PAIRS for text in pair]


def small_embedder() -> DeterministicEmbedder:
    """The tiny one that ships with kg."""
    return DeterministicEmbedder()


def calibrates(texts: Sequence[str]) -> bool:
    """Whether these are what each space's model is shown once; tests that count leave them out."""
    return bool(texts) and all(text and any(text in known for known in CALIBRATING) for text in texts)
