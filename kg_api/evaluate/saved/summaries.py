"""What a list tells of a saved result."""

from __future__ import annotations

import hashlib

from kg_api.evaluate.scores.measures import main_metrics
from kg_api.models.evaluation import EvalResult, EvalSummary


def summarise(name: str, result: EvalResult) -> EvalSummary:
    """Leave out the scores of each question, and all but the main measures.

    Args:
        name: of its file, without the ending.
        result: what was saved.
    """
    main = main_metrics(result.target, result.metrics) or list(result.metrics)[:1]
    return EvalSummary(
        name=as_text(name),
        label=result.label,
        question_set=result.data.name,
        ontology=ontology_of(result),
        mode=_text(result.config.get("mode")),
        target=result.target,
        asked=result.data.asked,
        compared_by=_compared_by(result),
        started_at=result.started_at,
        metrics={each: result.metrics[each] for each in main},
        intervals={each: result.intervals[each] for each in main if each in result.intervals},
        latency_ms=result.latency_ms,
        degraded=result.degraded,
        refused=result.refused,
    )


def ontology_of(result: EvalResult) -> str | None:
    """The ontology that was asked; None where it is not said: only who sees all may see such a result."""
    return _text(result.config.get("ontology"))


def as_text(name: str) -> str:
    """The name of a file, also of one that is no Unicode: such a one can be told, but not asked for."""
    return name.encode("utf-8", "replace").decode()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _compared_by(result: EvalResult) -> str:
    of = f"{result.data.hash}\n{result.data.sample}\n{result.target}"
    return hashlib.sha256(of.encode("utf-8", "replace")).hexdigest()[:16]
