"""Saved results of evaluations: listed, read, compared."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import AfterValidator, StringConstraints

from kg_api.graph.naming.ontologies import require_ontologies
from kg_api.models.base import storable
from kg_api.models.evaluation import Comparison, EvalResult, EvalSummaries, ResultDeleted
from kg_api.models.vocabulary import MAX_COMPARED
from kg_api.web.access.door import asking
from kg_api.web.dependencies import Offset, OntologyFilter, Open, PageSize, Results

router = APIRouter(tags=["evaluation"])

_Named = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(storable)]
ResultName = Annotated[_Named, Path(description="Name of a saved result, as the list tells it.")]
ResultNames = Annotated[
    list[_Named],
    Query(alias="name", max_length=MAX_COMPARED, description="Names of two saved results, or of more."),
]
Metrics = Annotated[
    list[Annotated[str, StringConstraints(max_length=100)]] | None,
    Query(
        alias="metric",
        max_length=MAX_COMPARED,
        description="Measures to compare, such as `ndcg@10`; unset: the main ones.",
    ),
]
Against = Annotated[
    str,
    Query(
        max_length=1000,
        description="What others are compared with: `first`, `best` in the first measure, or a label.",
    ),
]


@router.get("/evaluations", summary="List saved results of evaluations, newest first")
def list_evaluations(
    *,
    container: Open,
    results: Results,
    ontology: OntologyFilter = None,
    offset: Offset = 0,
    limit: PageSize = 50,
) -> EvalSummaries:
    """Give what `kg eval run` has saved in `evaluations` below KG_HOME, each with its main measures.

    `compared_by` is the same where two results can be compared. Files that cannot be read are named under
    `unreadable`.
    """
    found = results.page(ontology, offset, limit)
    if not found.total:
        require_ontologies(container.graph, ontology)
    return found


@router.get("/evaluations/compare", summary="Compare saved results of evaluations")
def compare_evaluations(
    results: Results, names: ResultNames, metrics: Metrics = None, against: Against = "first"
) -> Comparison:
    """Compare results on the same questions, with paired significance tests, as `kg eval compare` does.

    422: they are of other data or questions, or one does not have the measure.
    """
    return results.compare(names, metrics, against)


@router.get("/evaluations/{name}", summary="Get a saved result of an evaluation")
def get_evaluation(request: Request, results: Results, name: ResultName) -> EvalResult:
    """Give a result with its configuration and the scores of each question.

    `machine` is empty unless the key may administer all of kg. 404: there is none of that name; the message
    names those nearest. 422: its file cannot be read.
    """
    found, access = results.find(name), asking(request)
    sees_machine = access.allows("admin") and access.ontologies is None
    return found if sees_machine else found.model_copy(update={"machine": {}})


@router.delete("/evaluations/{name}", summary="Delete a saved result of an evaluation")
def delete_evaluation(results: Results, name: ResultName) -> ResultDeleted:
    """Delete a result with its answers and its picture, also one that cannot be read.

    404: there is none of that name; the message names those nearest.
    """
    return results.delete(name)
