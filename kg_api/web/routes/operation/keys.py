"""API keys: made, listed, replaced and revoked."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.openapi.models import Example

from kg_api.access import keys
from kg_api.graph.keys.stored import read_keys
from kg_api.models.base import Text
from kg_api.models.keys import ApiKey, ApiKeys, CreatedKey, KeyRotation, NewKey
from kg_api.models.vocabulary import MAX_KEY_NAME
from kg_api.web.access.door import asking
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["keys"], route_class=StrictRoute)

NEW: dict[str, Example] = {
    "for somebody who searches": {"value": {"name": "ada", "scope": "read"}},
    "for a nightly import": {"value": {"name": "import", "scope": "write", "valid_days": 90}},
}
ROTATION: dict[str, Example] = {"the old one is good for an hour more": {"value": {"overlap_hours": 1}}}
CalledKey = Annotated[
    Text,
    Path(min_length=1, max_length=MAX_KEY_NAME, description="Id of a key, or its name."),
]


@router.get("/keys", summary="List API keys")
def list_keys(container: Open, request: Request) -> ApiKeys:
    """Give all keys, the newest first, also those that are expired or revoked; never their secrets."""
    return ApiKeys(keys=read_keys(container.graph), required=request.app.state.keys_required)


@router.post("/keys", status_code=201, summary="Create an API key")
def create_key(
    container: Open, request: Request, key: Annotated[NewKey, Body(openapi_examples=NEW)]
) -> CreatedKey:
    """Make a key. `key` in the answer is what its owner sends; it is shown here and never again.

    409: a key that can be used has that name.
    """
    return keys.create_key(container.graph, key, asking(request).key_id)


@router.post("/keys/{key_id}/rotate", status_code=201, summary="Replace an API key")
def rotate_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    rotation: Annotated[KeyRotation, Body(openapi_examples=ROTATION)],
) -> CreatedKey:
    """Make a key of the same name and scope; the old one is good for `overlap_hours` beside it.

    404: there is no such key. 409: it cannot be used any more, was replaced, or several are called so.
    """
    return keys.rotate_key(container.graph, key_id, rotation, asking(request).key_id)


@router.post("/keys/{key_id}/revoke", summary="Revoke an API key")
def revoke_key(
    container: Open,
    request: Request,
    key_id: CalledKey,
    *,
    force: Annotated[
        bool, Query(description="Also the last key that is good for everything, where keys are required.")
    ] = False,
) -> ApiKey:
    """Make a key worth nothing, within five seconds. To do it twice is no error.

    404: there is no such key. 409: several are called so, or it is the last one that is good for everything.
    """
    remote = request.app.state.keys_required and asking(request).is_key
    return keys.revoke_key(container.graph, key_id, but_the_last=remote and not force)
