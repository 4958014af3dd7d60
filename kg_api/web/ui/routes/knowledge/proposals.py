"""The page of proposed links, to be accepted or rejected."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.models.vocabulary import ProposalState
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Offset, Open
from kg_api.web.routes.queries.proposals import ProposalId, list_proposals
from kg_api.web.ui.links import PROPOSALS
from kg_api.web.ui.rendering import render, wants_part

PAGE_SIZE: Final = 20
DECISIONS: Final[dict[str, ProposalState]] = {"accept": "accepted", "reject": "rejected", "undo": "open"}

router = APIRouter(include_in_schema=False)


@router.get(PROPOSALS)
def proposals_page(
    container: Open,
    ontology: Annotated[str, Query(max_length=1000)] = "",
    state: ProposalState = "open",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show proposed links, the best first."""
    found = list_proposals(container, ontology or None, None, state, offset=offset, limit=PAGE_SIZE)
    shown = {"found": found, "ontology": ontology, "state": state, "states": get_args(ProposalState)}
    return render("proposals/page.html", {**shown, "ontologies": names_of_ontologies(container.graph)})


@router.post(PROPOSALS + "/{proposal_id}/{decision}")
def decide(
    request: Request, container: Open, proposal_id: ProposalId, decision: Literal["accept", "reject", "undo"]
) -> Response:
    """Accept or reject a link, or open it again; to htmx the proposal as it is then."""
    decided = container.proposals.decide(proposal_id, DECISIONS[decision], None)
    note_outcome(request, decided)
    if wants_part(request):
        return render("proposals/one.html", {"proposal": decided})
    return RedirectResponse(PROPOSALS, 303)
