"""nDCG@10 of what each found, by kg's own evaluation, and whether kg differs by more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.contestants import OWN
from benchmarks.peers.job import Report
from benchmarks.peers.texts import Judged
from kg_api.evaluation.comparing import compute_interval, compute_randomisation_test
from kg_api.evaluation.scoring import score_questions
from kg_api.schemas.evaluation import FoundSpan, QuestionResult

METRIC = "ndcg@10"
DEPTH = 10


def quality(reports: Mapping[str, Report], sets: Sequence[Judged]) -> dict[str, Any]:
    """For each set and way of ranking the mean in percent, its 95 % interval, and p against kg."""
    return {judged.corpus.name: _of_set(reports, judged) for judged in sets}


def _of_set(reports: Mapping[str, Report], judged: Judged) -> dict[str, Any]:
    scored = {
        f"{name}, {way}": _scores(judged, answers)
        for name, report in reports.items()
        for way, answers in report.corpora[judged.corpus.name].answers.items()
    }
    own = next((scores for label, scores in scored.items() if label.startswith(f"{OWN},")), None)
    return {label: _told(scores, own) for label, scores in scored.items()}


def _scores(judged: Judged, answers: Mapping[str, Sequence[str]]) -> list[float]:
    """Of each question; a document counts once, by its best passage."""
    results = {
        query.query_id: QuestionResult(
            query_id=query.query_id,
            found=[FoundSpan(document=judged.unit[each], start=0, end=0) for each in answers[query.query_id]],
            ms=0,
        )
        for query in judged.queries
    }
    scored = score_questions("documents", judged.queries, results, DEPTH)
    return [scored[query.query_id][METRIC] for query in judged.queries]


def _told(scores: Sequence[float], own: Sequence[float] | None) -> dict[str, Any]:
    low, high = compute_interval(scores)
    told = {
        METRIC: round(100 * sum(scores) / len(scores), 1),
        "interval": [round(100 * low, 1), round(100 * high, 1)],
    }
    if own is None or own is scores:
        return told
    return {
        **told,
        "p_against_kg": round(
            compute_randomisation_test([a - b for a, b in zip(own, scores, strict=True)]), 4
        ),
    }
