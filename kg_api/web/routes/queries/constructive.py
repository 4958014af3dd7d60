"""Constructive queries: steps that build a subgraph."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.models.constructive.query import ConstructiveQuery
from kg_api.models.constructive.subgraph import Subgraph
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

QUERIES: dict[str, Example] = {
    "what passages say, and what their concepts are related to": {
        "value": {
            "ontology": "notes",
            "steps": [
                {"step": "seed", "by": "text", "value": "how are retries delayed", "limit": 5},
                {"step": "expand", "along": ["appears_in"], "direction": "in"},
                {"step": "expand", "along": ["related_to"], "types": ["requires"], "hops": 2},
                {"step": "rank", "by": "pagerank"},
                {"step": "limit", "nodes": 20},
            ],
        }
    },
    "from a concept to recent passages": {
        "value": {
            "steps": [
                {"step": "seed", "by": "concept", "value": "lease"},
                {"step": "expand", "along": ["appears_in", "part_of"], "direction": "out", "hops": 2},
                {"step": "filter", "where": ["date>=2025-01-01"], "kinds": ["passage", "document"]},
            ],
        }
    },
}


@router.post("/queries/constructive", summary="Build a subgraph by steps: seed, expand, filter, rank, limit")
def constructive_query(
    container: Open, query: Annotated[ConstructiveQuery, Body(openapi_examples=QUERIES)]
) -> Subgraph:
    """Begin with passages, concepts, relationships or pictures, follow edges from them, and keep what fits.

    The answer has each node once, with how it was reached; the edges between them with quotes that prove
    them; and of each step what it left out (`cut`). All steps see only `ontology`, `documents` and `where`.
    404: a concept or a source that a seed names is not there. 422: a seed lies outside of these.
    """
    return container.constructive.query(narrowed(container.graph, query))
