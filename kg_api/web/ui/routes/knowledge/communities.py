"""The pages of communities: what an ontology is about, part by part."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.web.dependencies import Offset, Ontology, Open
from kg_api.web.routes.queries.communities import CommunityId
from kg_api.web.ui.links import COMMUNITIES
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
        shown["found"] = container.communities.page(
            ontology, level=0, parent=None, offset=offset, limit=PAGE_SIZE
        )
    return render("communities/list.html", shown)


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
