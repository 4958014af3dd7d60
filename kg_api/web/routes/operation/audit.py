"""The audit log: what was changed, when and with which key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from kg_api.access.keys import ids_called
from kg_api.graph.keys.audit import page_of_audit
from kg_api.graph.keys.stored import read_keys
from kg_api.models.base import Text
from kg_api.models.keys import AuditPage
from kg_api.models.vocabulary import MAX_KEY_NAME
from kg_api.web.dependencies import Offset, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["keys"], route_class=StrictRoute)

OfKey = Annotated[
    Text | None,
    Query(
        min_length=1,
        max_length=MAX_KEY_NAME,
        description="Only with this key: its id, the name of one or several, `local` or `anyone`.",
    ),
]
Since = Annotated[datetime | None, Query(description="Only from then on; without a zone it is UTC.")]
NO_KEYS = frozenset({"local", "anyone"})


@router.get("/audit", summary="List what was changed and by whom")
def list_audit(
    container: Open, key: OfKey = None, since: Since = None, offset: Offset = 0, limit: PageSize = 100
) -> AuditPage:
    """Give the requests that changed something, the newest first; they are kept for a year.

    An entry is written within a second after its request was answered. 404: there is no such key.
    """
    graph = container.graph
    key_ids = None if key is None else [key] if key in NO_KEYS else ids_called(read_keys(graph), key)
    from_then = since.replace(tzinfo=UTC) if since is not None and since.tzinfo is None else since
    entries, total = page_of_audit(graph, key_ids=key_ids, since=from_then, offset=offset, limit=limit)
    return AuditPage(entries=entries, total=total, offset=offset, limit=limit)
