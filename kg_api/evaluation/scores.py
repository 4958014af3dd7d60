"""Coverage of relevant spans by retrieved spans, as in chunking_evaluation.

Lengths are in characters. Overlapping hits count repeatedly, so overlap lowers precision. Hits in other
documents lower precision as well.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.errors import ConfigurationError
from kg_api.providers.extras import describe_installation
from kg_api.schemas.vocabulary import Target

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one question, from 0 to 1."""

    recall: float
    precision: float
    iou: float


def compute_scores(references: Sequence[Range], retrieved: Sequence[Range], elsewhere: int) -> Scores:
    """Score the hits in the document of the references. `elsewhere` is the length of all other hits."""
    wanted = {at for each in references for at in range(*each)}
    covered = len(wanted.intersection(at for each in retrieved for at in range(*each)))
    read = sum(end - start for start, end in retrieved) + elsewhere
    return Scores(
        recall=covered / len(wanted),
        precision=covered / read if read else 0,
        iou=covered / (read + len(wanted) - covered) if read else 0,
    )


# Names of metrics

MAIN: Final[dict[Target, tuple[str, ...]]] = {
    "documents": ("ndcg@10", "recall@10", "mrr@10", "hit_rate@1"),
    "passages": ("ndcg@10", "recall@10", "mrr@10", "hit_rate@1"),
    "spans": ("token_recall@5", "token_iou@5", "token_precision@5", "mrr@5"),
}
"""Most important first."""


def list_main_metrics(target: Target, there: Container[str]) -> list[str]:
    """List the available main metrics of a target, most important first."""
    return [name for name in MAIN[target] if name in there]


def list_families(metrics: Iterable[str]) -> list[str]:
    """Return the metrics without their ranks, such as `ndcg`, once each."""
    return list(dict.fromkeys(get_metric_family(name) for name in metrics))


def get_metric_family(metric: str) -> str:
    return metric.partition("@")[0]


def list_ranks(metrics: Iterable[str], family: str) -> list[int]:
    """Return the ranks of a metric, ascending."""
    at = (name.partition("@")[2] for name in metrics if get_metric_family(name) == family)
    return sorted(int(rank) for rank in at if rank.isdecimal())


# Packages for evaluation. Reading saved results needs none.

HOW: Final = describe_installation(["eval"])


def report_missing_library(error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"the packages for evaluation are not installed ({error.name} is missing). {HOW}"
    )
