"""Whether a reranker answers."""

from __future__ import annotations

import time

from kg_api.errors import KgError
from kg_api.models.queries.reranking import RerankHealth
from kg_api.rerank.port import Reranker

QUESTION = "how many people live in Berlin?"
PASSAGE = "Berlin has a population of more than three million people."
MAX_SECONDS = 10.0
"""Seconds: enough to load the local model on a slow machine."""


def check(reranker: Reranker | None, seconds: float = MAX_SECONDS) -> RerankHealth:
    """Ask one question. A local model is loaded by that, so that the first search does not wait for it."""
    if reranker is None:
        return RerankHealth(status="none", name=None, latency_ms=None)
    begun = time.perf_counter()
    try:
        reranker.score(QUESTION, [PASSAGE], seconds=seconds)
    except KgError as error:
        return RerankHealth(status="error", name=reranker.name, latency_ms=None, error=str(error))
    spent = round((time.perf_counter() - begun) * 1000, 1)
    return RerankHealth(status="ok", name=reranker.name, latency_ms=spent)
