"""The map of an ontology's passages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from kg_api.models.queries.similarity import PassageMap
from kg_api.models.vocabulary import MAX_MAP_POINTS, MAX_PAGE, USUAL_MAP_POINTS
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

Points = Annotated[
    int, Query(ge=1, le=MAX_MAP_POINTS, description="Maximum number of passages; of more, a sample.")
]


@router.get("/ontologies/{ontology}/map", summary="Get the passages of an ontology as points of a map")
def get_map(container: Open, ontology: Ontology, limit: Points = USUAL_MAP_POINTS) -> PassageMap:
    """Give each passage a place in two dimensions: what differs most in meaning is furthest apart.

    By the principal components of the vectors that answer searches; `explained` says how much of the
    differences they show. Columns instead of objects, for there are many.
    """
    communities = container.communities.page(ontology, level=0, parent=None, offset=0, limit=MAX_PAGE)
    return container.similarity.map(ontology, limit, communities.communities)
