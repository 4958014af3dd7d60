"""The pages of communities: what an ontology is about, part by part."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.graph.jobs import embedding_progress
from kg_api.graph.jobs.records import COMMUNITY_DETECTION
from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Offset, Ontology, Open
from kg_api.web.routes.queries.communities import CommunityId, detect_communities
from kg_api.web.routes.queries.concepts import list_concepts
from kg_api.web.ui.links import COMMUNITIES, address
from kg_api.web.ui.rendering import render

PAGE_SIZE: Final = 50
CONCEPTS: Final = 30
PASSAGES: Final = 10

router = APIRouter(include_in_schema=False)


@router.get(COMMUNITIES)
def communities_page(
    container: Open, ontology: Annotated[str, Query(max_length=1000)] = "", offset: Offset = 0
) -> HTMLResponse:
    """Show the communities of an ontology, the largest first."""
    ontologies = names_of_ontologies(container.graph)
    ontology = ontology or (ontologies[0] if ontologies else "")
    shown: dict[str, Any] = {"ontology": ontology, "ontologies": ontologies, "found": None}
    if ontology:
        searched(container.graph, [ontology])  # one that is none of theirs is refused
        found = container.communities.page(ontology, level=0, parent=None, offset=offset, limit=PAGE_SIZE)
        shown |= {"found": found, **({} if found.communities else _why_none(container, ontology))}
    return render("communities/list.html", shown)


def _why_none(container: Container, ontology: str) -> dict[str, Any]:
    """Whether there are concepts to make them of, and whether a worker has been asked to."""
    concepts = list_concepts(container, ontology, limit=1).total
    return {
        "has_concepts": concepts > 0,
        "detecting": ontology in embedding_progress(container.graph, COMMUNITY_DETECTION),
    }


@router.post(COMMUNITIES + "/{ontology}/detect")
def detect(request: Request, container: Open, ontology: Ontology) -> Response:
    """Have the communities of an ontology detected now."""
    note_outcome(request, detect_communities(container, ontology))
    return RedirectResponse(address(COMMUNITIES, ontology=ontology), 303)


@router.get(COMMUNITIES + "/{ontology}/detect")
def page_to_detect_on(ontology: Ontology) -> Response:
    """Lead to where they are detected from: the form's address is no community."""
    return RedirectResponse(address(COMMUNITIES, ontology=ontology), 303)


@router.get(COMMUNITIES + "/{ontology}/{community_id}")
def community_page(container: Open, ontology: Ontology, community_id: CommunityId) -> HTMLResponse:
    """Show a community: its concepts, its parts, and where most is said of it."""
    found = container.communities.find(ontology, community_id, concepts=CONCEPTS, passages=PASSAGES)
    shown: dict[str, Any] = {"community": found, "parts": None}
    if found.parts:
        shown["parts"] = container.communities.page(
            ontology, level=0, parent=found.community_id, offset=0, limit=PAGE_SIZE
        )
    return render("communities/page.html", shown)
