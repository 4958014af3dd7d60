"""Which measures are shown and compared first."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from kg_api.models.vocabulary import Target

MAIN: Final[dict[Target, tuple[str, ...]]] = {
    "documents": ("ndcg@10", "recall@10", "mrr@10", "hit_rate@1"),
    "spans": ("token_recall@5", "token_iou@5", "token_precision@5", "mrr@5"),
}
"""The most telling first."""


def main_metrics(target: Target, there: Container[str]) -> list[str]:
    """The most telling measures of a target, as far as they were measured."""
    return [name for name in MAIN[target] if name in there]
