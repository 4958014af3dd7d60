"""From pictures to passages and back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.models.pictures.related import RelatedSearch, RelatedSources
from kg_api.web.dependencies import Open, SourceId
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["search"], route_class=StrictRoute)

RELATED: dict[str, Example] = {
    "passages for a picture, pictures for a passage": {"value": {"limit": 5}},
    "pictures of the same document": {"value": {"kinds": ["image"], "same_document": True}},
}


@router.post(
    "/queries/sources/{source_id:path}/related",
    summary="Find passages that go with a picture, or pictures that go with a passage",
)
def related_sources(
    container: Open, source_id: SourceId, request: Annotated[RelatedSearch, Body(openapi_examples=RELATED)]
) -> RelatedSources:
    """Give what stands in the same document, carries the same concepts, or is near in words.

    The ways are joined by ranks; `through` of each source says which found it.
    """
    return container.related.related(source_id, narrowed(container.graph, request))
