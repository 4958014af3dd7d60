from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kg_api.evaluation.results import Run, build_result
from kg_api.schemas.evaluation import (
    EvalResult,
    FoundSpan,
    QuestionResult,
    QuestionSet,
    SetDocument,
    SetQuery,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def measured(
    label: str, ranks: list[int], *, data: str = "d", ontology: str | None = None, **more: Any
) -> EvalResult:
    """Return a result that has the relevant document at these ranks (from 1; use 0 if it was not
    found)."""
    queries = tuple(SetQuery(f"q{n}", f"What is {n}?", {"a": 1}) for n in range(len(ranks)))
    questions = QuestionSet("set", (SetDocument("a", "x"),), queries, (), "c", data)
    config = {"mode": label, **({"ontology": ontology} if ontology else {})}
    run = Run(label, "documents", questions, queries, 10, config, {"version": "1", "code": "2"})
    answers = {query.query_id: answered(query, rank) for query, rank in zip(queries, ranks, strict=True)}
    return build_result(run, answers, NOW, NOW, {}).model_copy(update=more)


def answered(query: SetQuery, rank: int) -> QuestionResult:
    names = [f"x{n}" for n in range(1, rank)] + ["a"] if rank else ["x1"]
    found = [FoundSpan(document=name, start=0, end=1) for name in names]
    return QuestionResult(query_id=query.query_id, found=found, ms=2.0, timings_ms={"total": 1.0})


def save(folder: Path, name: str, made: EvalResult, *, after: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = made.model_copy(update={"started_at": NOW + timedelta(minutes=after)})
    path = folder / f"{name}.json"
    path.write_text(made.model_dump_json(indent=1), encoding="utf-8")
    return path
