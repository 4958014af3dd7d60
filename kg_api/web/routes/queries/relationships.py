"""Relationships: what sources state of concepts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.models.concepts.relations import RelationshipHits, RelationshipSearch
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)

SEARCHES: dict[str, Example] = {
    "by meaning": {"value": {"query_text": "what does a lease need", "limit": 5}},
    "of a type": {
        "value": {"query_text": "lease", "ontologies": ["notes"], "types": ["requires", "depends on"]}
    },
}


@router.post("/relationships/search", summary="Search relationships by what they say")
def search_relationships(
    container: Open, body: Annotated[RelationshipSearch, Body(openapi_examples=SEARCHES)]
) -> RelationshipHits:
    """Give the relationships nearest in meaning: subject, type, object, and the sources that state them.

    They are compared by their vectors only. What several sources state is one hit, with its statements.
    """
    return container.relationships.search(body)
