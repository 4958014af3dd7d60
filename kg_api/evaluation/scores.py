"""How well retrieved spans cover what answers a question, by the rules of chunking_evaluation.

Those rules: lengths are characters; what is retrieved counts as often as it is retrieved, so overlap costs
precision; a chunk of another corpus counts as retrieved and covers nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.errors import ConfigurationError
from kg_api.providers.extras import how_to_install
from kg_api.schemas.vocabulary import Target

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one question, each from 0 to 1."""

    recall: float
    precision: float
    iou: float


def scores(references: Sequence[Range], retrieved: Sequence[Range], elsewhere: int) -> Scores:
    """Score what was retrieved from the question's own corpus."""
    covered, missed = _cover(references, retrieved)
    read = _length(retrieved) + elsewhere
    return Scores(
        recall=covered / _length(references),
        precision=covered / read if read else 0,
        iou=covered / (read + _length(missed)) if read else 0,
    )


def _cover(references: Sequence[Range], chunks: Sequence[Range]) -> tuple[int, list[Range]]:
    """Characters of the references that lie in chunks, and the ranges that do not."""
    found = list[Range]()
    missed = list(references)
    for chunk in chunks:
        for reference in references:
            if common := _common(chunk, reference):
                found.append(common)
                missed = _without(missed, common)
    return _length(_union(found)), missed


def _common(one: Range, other: Range) -> Range | None:
    start, end = max(one[0], other[0]), min(one[1], other[1])
    return (start, end) if start <= end else None  # touching is enough, as in the original


def _without(ranges: Sequence[Range], cut: Range) -> list[Range]:
    left: list[Range] = []
    for start, end in ranges:
        if end < cut[0] or start > cut[1]:
            left.append((start, end))
            continue
        left += [part for part in ((start, cut[0]), (cut[1], end)) if part[0] < part[1]]
    return left


def _union(ranges: Sequence[Range]) -> list[Range]:
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _length(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)


# Measures by their names: which are shown and compared first, and at which ranks there are any.

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


# The packages for measuring and comparing; reading saved results needs none of them.

HOW: Final = how_to_install(["eval"])


def missing(error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"the packages for evaluation are not installed ({error.name} is missing); {HOW}"
    )
