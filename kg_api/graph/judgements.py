"""Writes, lists, and deletes judgements on passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kg_api.errors import NotFound
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.library import find_source
from kg_api.graph.names import require_ontologies
from kg_api.graph.reach import require_visible
from kg_api.graph.rows import convert_times
from kg_api.schemas.base import build_judged_question_id, judgement_id
from kg_api.schemas.evaluation import (
    Judgement,
    JudgementRequest,
    Judgements,
    JudgementsDeleted,
)

_LAST: Final = "g"  # after every id, which is hexadecimal


def judge(graph: Graph, ontology: str, request: JudgementRequest) -> Judgement:
    """Store a judgement on a passage for a question. This replaces an earlier judgement."""
    require_visible(ontology)
    place = find_source(graph, request.source_id)
    identity = judgement_id(ontology, request.question, place.source_id)

    def work(tx: Transaction) -> Row:
        fields = {"question": request.question, "relevance": request.relevance, "by": request.by}
        ids = {"question_id": build_judged_question_id(ontology, request.question), "judgement_id": identity}
        rows = tx.run("judgements/write", ontology=ontology, source_id=place.source_id, **ids, **fields)
        if not rows:
            raise NotFound(f"{ontology!r} has no passage {request.source_id!r}")
        return {**rows[0], "source": place}

    return _to_judgement(graph.transaction(work))


def list_judgements(
    graph: Graph, ontology: str, question: str | None, *, offset: int, limit: int
) -> Judgements:
    require_visible(ontology)
    identity = None if question is None else build_judged_question_id(ontology, question)
    chosen = {"from": identity or "", "to": identity or _LAST}
    rows = graph.read("judgements/page", ontology=ontology, **chosen, offset=offset, limit=limit)
    total = graph.read("judgements/count", ontology=ontology, **chosen)[0]["judgements"]
    if not total:
        require_ontologies(graph, ontology)
    return Judgements(judgements=list(map(_to_judgement, rows)), total=total, offset=offset, limit=limit)


def delete_judgements(graph: Graph, ontology: str, question: str, source_id: str | None) -> JudgementsDeleted:
    """Delete the judgements for a question. To delete those on one source, use its complete id."""
    require_visible(ontology)
    parameters = {"question_id": build_judged_question_id(ontology, question), "source_id": source_id}
    rows = graph.transaction(lambda tx: tx.run("judgements/delete", ontology=ontology, **parameters))
    return JudgementsDeleted(judgements=rows[0]["judgements"])


def read_relevances(graph: Graph, question: str, sources: Sequence[tuple[str, str]]) -> dict[str, int]:
    rows = [
        {"source_id": source, "judgement_id": judgement_id(ontology, question, source)}
        for ontology, source in sources
    ]
    found = graph.read("judgements/of_sources", rows=rows) if rows else []
    return {row["source_id"]: row["relevance"] for row in found}


def _to_judgement(row: Row) -> Judgement:
    return Judgement.model_validate({**convert_times(row["judgement"]), "source": row["source"]})
