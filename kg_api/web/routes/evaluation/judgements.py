"""Which passages answer a question, as people say: what searches are measured by."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.openapi.models import Example

from kg_api.graph.judgements.library import delete_judgements, judge, list_judgements, list_questions
from kg_api.models.base import NodeId
from kg_api.models.queries.judgements import (
    JudgedQuestions,
    JudgedText,
    Judgement,
    JudgementRequest,
    Judgements,
    JudgementsDeleted,
)
from kg_api.web.dependencies import Offset, Ontology, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["evaluation"], route_class=StrictRoute)

OF_ONTOLOGY = "/ontologies/{ontology}/judgements"
JUDGEMENTS: dict[str, Example] = {
    "it answers": {
        "value": {
            "question": "how are retries delayed?",
            "source_id": "handbook/queues.md#12",
            "relevance": 2,
            "by": "Ann",
        }
    },
    "it does not": {
        "value": {
            "question": "how are retries delayed?",
            "source_id": "handbook/queues.md#3",
            "relevance": 0,
        }
    },
}


@router.put(OF_ONTOLOGY, summary="Judge a passage as an answer to a question")
def put_judgement(
    container: Open,
    ontology: Ontology,
    judgement: Annotated[JudgementRequest, Body(openapi_examples=JUDGEMENTS)],
) -> Judgement:
    """Keep how relevant a passage or a picture is for a question; what was said of it before is replaced.

    Judged questions are a question set: `kg eval make --kind judgements` writes it. A judgement counts as
    long as the text of its passage is there, and goes with the ontology.
    """
    return judge(container.graph, ontology, judgement)


@router.get(OF_ONTOLOGY, summary="List judgements")
def get_judgements(
    container: Open,
    ontology: Ontology,
    question: Annotated[JudgedText | None, Query(description="Only those for it; unset: all.")] = None,
    *,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> Judgements:
    """Give judgements question by question, for each the best first, with the passages as they are now."""
    return list_judgements(container.graph, ontology, question, offset=offset, limit=limit)


@router.get(f"{OF_ONTOLOGY}/questions", summary="List judged questions")
def get_judged_questions(
    container: Open, ontology: Ontology, *, offset: Offset = 0, limit: PageSize = 100
) -> JudgedQuestions:
    """Give the questions that passages were judged for, those that were judged last first."""
    return list_questions(container.graph, ontology, offset=offset, limit=limit)


@router.delete(OF_ONTOLOGY, summary="Take judgements back")
def remove_judgements(
    container: Open,
    ontology: Ontology,
    question: Annotated[JudgedText, Query(description="What they were judged for.")],
    source_id: Annotated[
        NodeId | None, Query(description="Whole id of the passage; unset: all that were judged for it.")
    ] = None,
) -> JudgementsDeleted:
    """Take back what was judged for a question, of one passage or of all."""
    return delete_judgements(container.graph, ontology, question, source_id)
