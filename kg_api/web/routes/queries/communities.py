"""Communities of concepts: an overview of an ontology."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from kg_api.models.base import NodeId
from kg_api.models.communities.communities import Communities, CommunityDetails, CommunityRequest
from kg_api.models.vocabulary import MAX_CENTRAL_PASSAGES, MAX_COMMUNITY_LEVEL, MAX_PAGE
from kg_api.web.dependencies import Offset, Ontology, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["communities"], route_class=StrictRoute)

OF_ONTOLOGY = "/ontologies/{ontology}/communities"
CommunityId = Annotated[NodeId, Path(description="Id of a community, or digits that only it begins with.")]
Level = Annotated[int, Query(ge=0, le=MAX_COMMUNITY_LEVEL, description="0 is the coarsest.")]
Parent = Annotated[
    NodeId | None,
    Query(description="Only the parts of this community, on the level below it; `level` has no effect."),
]
Concepts = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of its concepts.")]
Passages = Annotated[
    int, Query(ge=1, le=MAX_CENTRAL_PASSAGES, description="Maximum number of passages, and of documents.")
]


@router.get(OF_ONTOLOGY, summary="List the communities of an ontology's concepts")
def list_communities(
    container: Open,
    ontology: Ontology,
    level: Level = 0,
    parent: Parent = None,
    *,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> Communities:
    """Give what an ontology is about: communities of concepts with names of their own, the largest first.

    `changed` says how much of the ontology has changed since they were detected.
    """
    return container.communities.page(ontology, level=level, parent=parent, offset=offset, limit=limit)


@router.get(f"{OF_ONTOLOGY}/{{community_id}}", summary="Get a community with its concepts and passages")
def get_community(
    container: Open,
    ontology: Ontology,
    community_id: CommunityId,
    *,
    concepts: Concepts = 20,
    passages: Passages = 5,
) -> CommunityDetails:
    """Give the concepts that are most its own, and the passages and documents that say most of it."""
    return container.communities.find(ontology, community_id, concepts=concepts, passages=passages)


@router.post(OF_ONTOLOGY, status_code=202, summary="Detect communities now")
def detect_communities(container: Open, ontology: Ontology) -> CommunityRequest:
    """Start the job, or join the one there is; else a worker does it when enough has changed."""
    return container.communities.detect(ontology)
