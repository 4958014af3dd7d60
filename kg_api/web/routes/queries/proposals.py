"""Links that are proposed between sources, and between concepts, of different documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query
from fastapi.openapi.models import Example

from kg_api.models.base import NodeId
from kg_api.models.proposals.configuration import ProposalConfig, ProposalSearch, ProposalStatus
from kg_api.models.proposals.proposals import Proposal, ProposalDecision, Proposals
from kg_api.models.vocabulary import ProposalKind, ProposalState
from kg_api.web.dependencies import Offset, Ontology, OntologyFilter, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["proposals"], route_class=StrictRoute)

CONFIGS: dict[str, Example] = {
    "off": {"value": {"enabled": False}},
    "fewer and nearer": {"value": {"min_similarity": 0.85, "max_open": 100}},
    "as the service's settings say": {"value": {"enabled": None, "min_similarity": None}},
}
ProposalId = Annotated[NodeId, Path(description="Id of a proposal, or at least 8 digits it begins with.")]
KindFilter = Annotated[ProposalKind | None, Query(description="Only links of these; unset: both.")]
StateFilter = Annotated[ProposalState | None, Query(description="Only these; unset: all.")]
DryRun = Annotated[bool, Query(description="Show the effects only; change nothing.")]
Anew = Annotated[bool, Query(description="Look at everything again, not only at what has changed.")]
OF_ONTOLOGY = "/ontologies/{ontology}/proposals-config"


@router.get("/proposals", summary="List proposed links")
def list_proposals(
    container: Open,
    ontology: OntologyFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    *,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> Proposals:
    """Give proposals, the best first, each with its score, its reason and the texts of both ends."""
    return container.proposals.page(ontology, kind, state, offset, limit)


@router.get("/proposals/{proposal_id}", summary="Get a proposed link")
def get_proposal(container: Open, proposal_id: ProposalId) -> Proposal:
    """Give one proposal."""
    return container.proposals.find(proposal_id)


@router.post("/proposals/{proposal_id}/accept", summary="Accept a proposed link")
def accept_proposal(container: Open, proposal_id: ProposalId, body: ProposalDecision) -> Proposal:
    """Make the link: related concepts, paths and the source graph show it. Doing it twice changes nothing."""
    return container.proposals.decide(proposal_id, "accepted", body.by)


@router.post("/proposals/{proposal_id}/reject", summary="Reject a proposed link")
def reject_proposal(container: Open, proposal_id: ProposalId, body: ProposalDecision) -> Proposal:
    """Remember that the two are not to be linked: they are never proposed again. A link of them goes."""
    return container.proposals.decide(proposal_id, "rejected", body.by)


@router.post("/proposals/{proposal_id}/undo", summary="Undo a decision on a proposed link")
def undo_proposal(container: Open, proposal_id: ProposalId, body: ProposalDecision) -> Proposal:
    """Open the proposal again; its link goes."""
    return container.proposals.decide(proposal_id, "open", body.by)


@router.get(OF_ONTOLOGY, summary="Get how links are proposed in an ontology")
def get_proposals_config(container: Open, ontology: Ontology) -> ProposalStatus:
    """Give the configuration, what holds by it and the settings, and how far the search is."""
    return container.proposals.status(ontology)


@router.put(OF_ONTOLOGY, summary="Change how links are proposed in an ontology")
def put_proposals_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[ProposalConfig, Body(openapi_examples=CONFIGS)],
    *,
    dry_run: DryRun = False,
) -> ProposalStatus:
    """Change the fields given; others stay, null restores the service's setting.

    Open proposals are looked at again by the new configuration; what was decided stays.
    """
    return container.proposals.configure(ontology, config, dry_run=dry_run)


@router.post("/ontologies/{ontology}/proposals", status_code=202, summary="Look for links now")
def search_proposals(container: Open, ontology: Ontology, *, anew: Anew = False) -> ProposalSearch:
    """Start the job, or join the one there is; else a worker does it when something has changed."""
    return container.proposals.search(ontology, anew=anew)
