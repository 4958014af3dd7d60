"""Embedders for tests."""

from __future__ import annotations

from kg_api.embed.deterministic import DeterministicEmbedder


def small_embedder() -> DeterministicEmbedder:
    """The tiny one that ships with kg."""
    return DeterministicEmbedder()
