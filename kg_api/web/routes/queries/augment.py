"""Passages that go with a long text or a conversation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.models.queries.augment import Augmented, AugmentRequest
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

EXAMPLES: dict[str, Example] = {
    "a text": {
        "value": {"text": "The worker lost its lease while it was embedding.", "ontology": "handbook"}
    },
    "a conversation, within a budget": {
        "value": {
            "messages": [
                {"author": "Ada", "text": "How often is the lease renewed?"},
                {"author": "Bob", "text": "Every ten seconds, I think."},
            ],
            "limit": 3,
            "token_budget": 2000,
            "deduplicate": True,
        }
    },
}


@router.post("/queries/augment", summary="Find passages relevant to a text or a conversation")
def augment(
    container: Open, request: Annotated[AugmentRequest, Body(openapi_examples=EXAMPLES)]
) -> Augmented:
    """Cut a text into pieces, search for each, and give the best passages as records and as a context block.

    `counts` tells how many each step left out, `degraded` what could not be done.
    """
    return container.augment.augment(request)
