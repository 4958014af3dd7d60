"""The pages of keys and of what was changed with them, for administrators."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.errors import NotFound
from kg_api.graph.naming.ontologies import note_on_ontologies
from kg_api.models.keys import CreatedKey, KeyRotation, NewKey
from kg_api.models.vocabulary import MAX_KEY_NAME, KeyScope
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Offset, Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.operation.audit import list_audit
from kg_api.web.routes.operation.keys import CalledKey, create_key, list_keys, revoke_key, rotate_key
from kg_api.web.ui.links import AUDIT, KEYS
from kg_api.web.ui.rendering import render

PAGE_SIZE: Final = 50
FIELD: Final = 10_000
"""Characters of a field of a form, at most."""

router = APIRouter(include_in_schema=False)


@router.get(KEYS)
def keys_page(request: Request, container: Open) -> HTMLResponse:
    """Show all keys, those that can be used first."""
    listed = list_keys(container, request)
    keys = sorted(listed.keys, key=lambda each: each.state != "active")
    return render("keys/page.html", {"keys": keys, "required": listed.required})


@router.post(KEYS)
def create(
    request: Request,
    container: Open,
    name: Annotated[str, Form(max_length=FIELD)] = "",
    scope: Annotated[KeyScope, Form()] = "read",
    *,
    ontologies: Annotated[str, Form(max_length=FIELD)] = "",
    valid_days: Annotated[str, Form(max_length=FIELD)] = "",
) -> HTMLResponse:
    """Make a key, and show it this once."""
    named = [each.strip() for each in re.split("[,\n]", ontologies) if each.strip()]
    asked = {
        "name": name,
        "scope": scope,
        "ontologies": named if ontologies.strip() else None,
        "valid_days": valid_days or None,
    }
    return _created(request, container, create_key(container, request, valid(NewKey, asked)))


@router.post(KEYS + "/{key_id}/rotate")
def rotate(request: Request, container: Open, key_id: CalledKey) -> HTMLResponse:
    """Make a key in the place of another, which is good for a day more, and show it this once."""
    return _created(request, container, rotate_key(container, request, key_id, KeyRotation()))


def _created(request: Request, container: Container, key: CreatedKey) -> HTMLResponse:
    """Ontologies that are not there may be meant, or misspelt: that is said."""
    note_outcome(request, key)
    notes = note_on_ontologies(container.graph, key.ontologies)
    return render("keys/created.html", {"key": key, "notes": notes}, 201)


@router.get(KEYS + "/{key_id}/revoke")
def revocation_page(request: Request, container: Open, key_id: CalledKey) -> HTMLResponse:
    """Show what a key is good for, before it is worth nothing."""
    for each in list_keys(container, request).keys:
        if each.key_id == key_id:
            return render("keys/revoke.html", {"key": each})
    raise NotFound(f"there is no key {key_id!r}; the list of keys shows those that there are")


@router.post(KEYS + "/{key_id}/revoke")
def revoke(request: Request, container: Open, key_id: CalledKey) -> Response:
    """Make a key worth nothing."""
    note_outcome(request, revoke_key(container, request, key_id))
    return RedirectResponse(KEYS, 303)


@router.get(AUDIT)
def audit_page(
    container: Open, key: Annotated[str, Query(max_length=MAX_KEY_NAME)] = "", offset: Offset = 0
) -> HTMLResponse:
    """Show what was changed, when and with which key."""
    found = list_audit(container, key or None, None, offset, PAGE_SIZE)
    return render("keys/audit.html", {"found": found, "key": key})
