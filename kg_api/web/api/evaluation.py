"""Routes for judgements of passages and saved results of evaluations."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request
from pydantic import AfterValidator, StringConstraints

from kg_api.graph.judgements import delete_judgements, judge, list_judgements, list_questions
from kg_api.graph.names import require_ontologies
from kg_api.schemas.base import NodeId, require_storable
from kg_api.schemas.evaluation import (
    Comparison,
    EvalResult,
    EvalSummaries,
    JudgedQuestions,
    JudgedText,
    Judgement,
    JudgementRequest,
    Judgements,
    JudgementsDeleted,
    ResultDeleted,
)
from kg_api.schemas.vocabulary import MAX_COMPARED
from kg_api.web.shared.dependencies import Offset, Ontology, OntologyFilter, Open, PageSize, Results
from kg_api.web.shared.scoped import Routes, example
from kg_api.web.shared.security import asking

router = Routes("evaluation")

OF_ONTOLOGY = "/ontologies/{ontology}/judgements"


@router.put(OF_ONTOLOGY, "write", "Judge a passage as an answer to a question")
def put_judgement(
    container: Open,
    ontology: Ontology,
    judgement: Annotated[
        JudgementRequest, example(question="how are retries delayed?", source_id="queues.md#12", relevance=2)
    ],
) -> Judgement:
    """A new judgement replaces the old one. It counts while the text of the passage is unchanged."""
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


@router.get(f"{OF_ONTOLOGY}/questions", "read", "List judged questions")
def get_judged_questions(
    container: Open, ontology: Ontology, *, offset: Offset = 0, limit: PageSize = 100
) -> JudgedQuestions:
    return list_questions(container.graph, ontology, offset=offset, limit=limit)


@router.delete(OF_ONTOLOGY, "write", "Take judgements back")
def remove_judgements(
    container: Open,
    ontology: Ontology,
    question: Annotated[JudgedText, Query(description="Query that was judged.")],
    source_id: Annotated[NodeId | None, Query(description="Id of the passage. Default: all.")] = None,
) -> JudgementsDeleted:
    return delete_judgements(container.graph, ontology, question, source_id)


# Saved results


_Named = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(require_storable)]
ResultName = Annotated[_Named, Path(description="Name of a saved result, from the list.")]
ResultNames = Annotated[list[_Named], Query(alias="name", max_length=MAX_COMPARED)]
Metrics = Annotated[
    list[Annotated[str, StringConstraints(max_length=100)]] | None,
    Query(alias="metric", max_length=MAX_COMPARED, description="Default: the main ones."),
]
Against = Annotated[
    str, Query(max_length=1000, description="`first`, `best` in the first measure, or a label.")
]


@router.get("/evaluations", "read", "List saved results of evaluations, newest first", filtered=True)
def list_evaluations(
    *,
    container: Open,
    results: Results,
    ontology: OntologyFilter = None,
    offset: Offset = 0,
    limit: PageSize = 50,
) -> EvalSummaries:
    """Results with the same `compared_by` are comparable. `unreadable` lists damaged files."""
    found = results.page(ontology, offset, limit)
    if not found.total:
        require_ontologies(container.graph, ontology)
    return found


@router.get("/evaluations/compare", "read", "Compare saved results of evaluations", filtered=True)
def compare_evaluations(
    results: Results, names: ResultNames, metrics: Metrics = None, against: Against = "first"
) -> Comparison:
    """Run paired significance tests on the same questions. 422: different questions, or unknown measure."""
    return results.compare(names, metrics, against)


@router.get("/evaluations/{name}", "read", "Get a saved result of an evaluation", filtered=True)
def get_evaluation(request: Request, results: Results, name: ResultName) -> EvalResult:
    """`machine` is empty unless the key has the scope `admin` for all ontologies. 422: unreadable file."""
    found, access = results.find(name), asking(request)
    sees_machine = access.allows("admin") and access.ontologies is None
    return found if sees_machine else found.model_copy(update={"machine": {}})


@router.delete("/evaluations/{name}", "write", "Delete a saved result of an evaluation", filtered=True)
def delete_evaluation(results: Results, name: ResultName) -> ResultDeleted:
    """Delete a result with its answers and image, even if it is unreadable."""
    return results.delete(name)
