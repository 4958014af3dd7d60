"""Documents that wait until somebody approves them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.graph.naming.ontologies import require_ontologies
from kg_api.graph.review.waiting import list_waiting
from kg_api.models.library.review import Approval, Approved, Rejected, Review, WaitingDocuments
from kg_api.web.dependencies import Offset, OntologyFilter, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["review"], route_class=StrictRoute)

REVIEWS: dict[str, Example] = {
    "two documents": {
        "value": {"ontology": "handbook", "documents": ["notes/leases.md", "notes/workers.md"]}
    },
    "all": {"value": {"ontology": "handbook", "all": True}},
}
_BODY = Body(openapi_examples=REVIEWS)


@router.get("/waiting", summary="List documents that wait for approval")
def list_waiting_documents(
    container: Open, ontology: OntologyFilter = None, offset: Offset = 0, limit: PageSize = 100
) -> WaitingDocuments:
    """Give what was sent with `review`, by ontology and name; nothing of it is embedded, read or found."""
    found = list_waiting(container.graph, ontology=ontology, offset=offset, limit=limit)
    if not found.total:
        require_ontologies(container.graph, ontology)
    return found


@router.post("/waiting/approve", summary="Approve documents that wait")
def approve_documents(container: Open, review: Annotated[Approval, _BODY]) -> Approved:
    """Store documents that wait as if they came now; each has its own outcome, and one that fails waits on.

    With `all` 100 are stored a request: send `next` as `after` until there is none. What came again under
    its name meanwhile waits on. The same again changes nothing: the names are `unknown` then.
    """
    return container.review.approve(review)


@router.post("/waiting/reject", summary="Reject documents that wait")
def reject_documents(container: Open, review: Annotated[Review, _BODY]) -> Rejected:
    """Let documents wait no more; what is stored under their names stays. With `all`, up to 1,000 a request.

    Of a folder that is followed the file is remembered, so that it waits again only when it has changed.
    """
    return container.review.reject(review)
