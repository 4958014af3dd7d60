"""What is told of the reranker."""

from __future__ import annotations

from typing import Literal

from kg_api.models.base import Answer


class RerankHealth(Answer):
    """Whether the reranker answers."""

    status: Literal["ok", "error", "none"]
    """`none`: there is no reranker, so that searches are answered in the fused order."""
    name: str | None
    """Such as `local:ms-marco-MiniLM-L-12-v2`."""
    latency_ms: float | None
    """Of one short question and passage; the first time the local model is loaded for it."""
    error: str | None = None
