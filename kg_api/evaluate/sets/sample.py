"""Tiers: a few questions for a first look, some hundreds for a decision, all for the record."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from kg_api.models.evaluation import TIERS, SetQuery
from kg_api.models.vocabulary import Tier

SEED = 20_260_101


def sample_queries(queries: Sequence[SetQuery], tier: Tier, seed: int = SEED) -> list[SetQuery]:
    """Choose the questions of a tier: the same for the same seed, those of a smaller tier among them."""
    count = TIERS[tier]
    if count is None or count >= len(queries):
        return list(queries)
    order = sorted(queries, key=lambda query: query.query_id)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample, no secret
    chosen = {query.query_id for query in order[:count]}
    return [query for query in queries if query.query_id in chosen]


def sample_hash(queries: Sequence[SetQuery]) -> str:
    """Name which questions were asked."""
    ids = "\n".join(sorted(query.query_id for query in queries))
    return hashlib.sha256(ids.encode()).hexdigest()[:16]
