"""Routes for judgements of passages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from kg_api.graph.review import delete_judgements, judge, list_judgements
from kg_api.schemas.base import NodeId
from kg_api.schemas.evaluation import JudgedText, Judgement, JudgementRequest, Judgements, JudgementsDeleted
from kg_api.web.shared.dependencies import Offset, Ontology, Open, PageSize
from kg_api.web.shared.routes import Routes, declare_example

router = Routes("evaluation")

OF_ONTOLOGY = "/ontologies/{ontology}/judgements"


@router.put(OF_ONTOLOGY, "write", "Judge how well a passage answers a question")
def put_judgement(
    container: Open,
    ontology: Ontology,
    judgement: Annotated[
        JudgementRequest,
        declare_example(question="how are retries delayed?", source_id="queues.md#12", relevance=2),
    ],
) -> Judgement:
    """This replaces the old judgement. It will be used until the text of the passage is changed."""
    return judge(container.graph, ontology, judgement)


@router.get(OF_ONTOLOGY, "read", "List judgements")
def get_judgements(
    container: Open,
    ontology: Ontology,
    question: Annotated[
        JudgedText | None, Query(description="Only judgements for this query. Default: all.")
    ] = None,
    *,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> Judgements:
    return list_judgements(container.graph, ontology, question, offset=offset, limit=limit)


@router.delete(OF_ONTOLOGY, "write", "Delete judgements")
def remove_judgements(
    container: Open,
    ontology: Ontology,
    question: Annotated[JudgedText, Query(description="Query that was judged.")],
    source_id: Annotated[NodeId | None, Query(description="Id of the passage. Default: all.")] = None,
) -> JudgementsDeleted:
    return delete_judgements(container.graph, ontology, question, source_id)
