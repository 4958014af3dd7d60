"""Scores of each question: rankings by trec_eval (ir-measures), spans by characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from kg_api.evaluation.scores import Range, compute_scores, report_missing_library
from kg_api.schemas.evaluation import FoundSpan, JudgedPassage, QuestionResult, Reference, SetQuery
from kg_api.schemas.vocabulary import Target

try:
    import ir_measures
except ImportError as error:
    raise report_missing_library(error) from None

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)  # ranks, up to the number of requested hits

PerQuery = dict[str, dict[str, float]]
_DOCUMENTS = {"ndcg": "nDCG", "recall": "R", "mrr": "RR", "hit_rate": "Success"}
_SPANS = {"mrr": "RR", "hit_rate": "Success"}


def score_questions(
    target: Target, queries: Sequence[SetQuery], answers: Mapping[str, QuestionResult], limit: int
) -> PerQuery:
    """Score each question from 0 to 1, by metric. No metric uses more than `limit` hits."""
    cutoffs = [k for k in CUTOFFS if k <= limit] or [limit]
    if target == "spans":
        return _score_spans(queries, answers, cutoffs)
    judged: dict[str, dict[str, int]] = {}
    ranked: dict[str, list[str]] = {}
    for query in queries:
        found = answers[query.query_id].found
        if target == "documents":
            judged[query.query_id] = dict(query.relevant)
            names = [hit.document for hit in found]
        else:
            judged[query.query_id] = {str(at): each.relevance for at, each in enumerate(query.passages)}
            names = [_get_passage_name(query, rank, hit) for rank, hit in enumerate(found)]
        ranked[query.query_id] = list(dict.fromkeys(names))
    return _score_rankings(_DOCUMENTS, cutoffs, judged, ranked)


def compute_means(scored: PerQuery) -> dict[str, float]:
    names = list(next(iter(scored.values())))
    return {name: mean(each[name] for each in scored.values()) for name in names}


def _get_passage_name(query: SetQuery, rank: int, hit: FoundSpan) -> str:
    """Find the first judged passage that overlaps a hit, or build a unique name."""
    touched = (str(at) for at, each in enumerate(query.passages) if _overlap(hit, each))
    return next(touched, f"unjudged {rank}")


def _overlap(hit: FoundSpan, span: Reference | JudgedPassage) -> bool:
    return hit.document == span.document and hit.start < span.end and span.start < hit.end


def _score_rankings(
    kinds: Mapping[str, str],
    cutoffs: Sequence[int],
    judged: Mapping[str, Mapping[str, int]],
    ranked: Mapping[str, Sequence[str]],
) -> PerQuery:
    """Compare rankings with judgements. A question without hits gets zeros."""
    measures: dict[Any, str] = {
        ir_measures.parse_measure(f"{measure}@{k}"): f"{name}@{k}"
        for name, measure in kinds.items()
        for k in cutoffs
    }
    run = {
        query: {hit: float(len(hits) - at) for at, hit in enumerate(hits)} for query, hits in ranked.items()
    }
    scored: PerQuery = {query: dict.fromkeys(measures.values(), 0.0) for query in ranked}
    calculated: Iterable[Any] = ir_measures.iter_calc(list(measures), judged, run)
    for each in calculated:
        scored[each.query_id][measures[each.measure]] = float(each.value)
    return scored


def _score_spans(
    queries: Sequence[SetQuery], answers: Mapping[str, QuestionResult], cutoffs: Sequence[int]
) -> PerQuery:
    """Score the coverage of the spans, and the rank of the first hit that overlaps one."""
    ranked: dict[str, list[str]] = {}
    judged: dict[str, dict[str, int]] = {}
    for query in queries:
        found = answers[query.query_id].found
        ranked[query.query_id] = [str(at) for at in range(len(found))]
        right = [any(_overlap(hit, span) for span in query.references) for hit in found]
        # -1 matches no hit. It keeps the question in the results if no hit is relevant.
        judged[query.query_id] = {"-1": 1, **{str(at): 1 for at, each in enumerate(right) if each}}
    scored = _score_rankings(_SPANS, cutoffs, judged, ranked)
    for query in queries:
        document = query.references[0].document  # all spans of a question are in one document
        spans: list[Range] = [(span.start, span.end) for span in query.references]
        for k in cutoffs:
            found = answers[query.query_id].found[:k]
            own: list[Range] = [(hit.start, hit.end) for hit in found if hit.document == document]
            elsewhere = sum(hit.end - hit.start for hit in found if hit.document != document)
            covered = compute_scores(spans, own, elsewhere)
            for name in ("recall", "precision", "iou"):
                scored[query.query_id][f"token_{name}@{k}"] = getattr(covered, name)
    return scored
