"""The page of the map of an ontology's passages."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from kg_api.bootstrap import Container
from kg_api.graph.filters.facets import count_facets
from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.graph.search.similar import places_of
from kg_api.models.queries.facets import FacetRequest
from kg_api.spaces.plans import read_embedding_state
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.library.documents import list_documents
from kg_api.web.ui.links import MAP
from kg_api.web.ui.rendering import render, wants_part

Colour = Literal["document", "community", "date"]
LISTED: Final = 100
"""Groups."""
SHOWN: Final = 200
"""Passages that were chosen; the page says of how many."""
MAX_IDS: Final = 20_000
"""Characters: more than so many ids have."""

router = APIRouter(include_in_schema=False)


@router.get(MAP)
def map_page(
    request: Request,
    container: Open,
    ontology: Annotated[str, Query(max_length=1000)] = "",
    colour: Colour = "document",
) -> HTMLResponse:
    """Show the passages of an ontology as points, and the groups that they are coloured by as a list.

    To htmx the groups alone: the points are there, and have all that they can be coloured by.
    """
    ontologies = names_of_ontologies(container.graph)
    ontology = ontology or (ontologies[0] if ontologies else "")
    shown: dict[str, Any] = {"ontology": ontology, "ontologies": ontologies, "colour": colour}
    shown |= {"colours": get_args(Colour), "documents": None, "communities": None, "years": None}
    if ontology:
        searched(container.graph, [ontology])  # one that is none of theirs is refused
        read_embedding_state(container.graph, ontology)  # and one that is not there
        shown |= _groups(container, ontology, colour)
    return render("map/groups.html" if wants_part(request) else "map/page.html", shown)


@router.get(MAP + "/passages")
def chosen_passages(
    container: Open, ids: Annotated[str, Query(max_length=MAX_IDS)] = "", of: Annotated[int, Query(ge=0)] = 0
) -> HTMLResponse:
    """Show passages that were chosen on the map, as a part of its page.

    Args:
        container: what is open.
        ids: of the first, with commas between.
        of: how many were chosen.
    """
    wanted = [each for each in ids.split(",") if each][:SHOWN]
    found = {each.source_id: each for each in places_of(container.graph, wanted)}
    passages = [found[each] for each in wanted if each in found]
    return render("map/passages.html", {"passages": passages, "of": max(of, len(passages))})


def _groups(container: Container, ontology: str, colour: Colour) -> dict[str, Any]:
    if colour == "document":
        return {"documents": list_documents(container, ontology, limit=LISTED)}
    if colour == "community":
        found = container.communities.page(ontology, level=0, parent=None, offset=0, limit=LISTED)
        return {"communities": found}
    asked = {"fields": [{"field": "date", "by": "year"}], "ontology": [ontology], "limit": LISTED}
    return {"years": count_facets(container.graph, valid(FacetRequest, asked)).facets[0]}
