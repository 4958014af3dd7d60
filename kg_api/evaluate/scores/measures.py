"""Measures by their names: which are shown and compared first, and at which ranks there are any."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from kg_api.models.vocabulary import Target

MAIN: Final[dict[Target, tuple[str, ...]]] = {
    "documents": ("ndcg@10", "recall@10", "mrr@10", "hit_rate@1"),
    "passages": ("ndcg@10", "recall@10", "mrr@10", "hit_rate@1"),
    "spans": ("token_recall@5", "token_iou@5", "token_precision@5", "mrr@5"),
}
"""The most telling first."""


def main_metrics(target: Target, there: Container[str]) -> list[str]:
    """The most telling measures of a target, as far as they were measured."""
    return [name for name in MAIN[target] if name in there]


def families(metrics: Iterable[str]) -> list[str]:
    """What is measured at several ranks, such as `ndcg`, each once."""
    return list(dict.fromkeys(family_of(name) for name in metrics))


def family_of(metric: str) -> str:
    """The measure without its rank."""
    return metric.partition("@")[0]


def ranks(metrics: Iterable[str], family: str) -> list[int]:
    """The ranks at which it was measured, the first first."""
    at = (name.partition("@")[2] for name in metrics if family_of(name) == family)
    return sorted(int(rank) for rank in at if rank.isdecimal())
