"""What was changed and by whom, as it is stored."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kg_api.graph.database import Graph, Row
from kg_api.models.keys import AuditEntry

BEGINNING = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A request that changed something, to be stored."""

    key_id: str
    method: str
    path: str
    status: int
    request_id: str
    outcome: dict[str, str | int | bool]
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    entry_id: str = field(default_factory=lambda: uuid.uuid4().hex)


def write_audit(graph: Graph, records: Sequence[AuditRecord]) -> None:
    """Store some; to do it twice is no error."""
    rows = [{name: getattr(each, name) for name in each.__slots__} for each in records]
    graph.write("audit/write", entries=[{**row, "outcome": json.dumps(row["outcome"])} for row in rows])


def page_of_audit(
    graph: Graph, *, key_ids: Sequence[str] | None, since: datetime | None, offset: int, limit: int
) -> tuple[list[AuditEntry], int]:
    """Some, the newest first, and how many there are in all.

    Args:
        graph: where they are.
        key_ids: only of these keys; None: of all.
        since: only from then on; None: all.
        offset: how many to skip.
        limit: how many at most.
    """
    given = {"key_ids": key_ids, "since": since or BEGINNING}
    rows = graph.read("audit/page", **given, offset=offset, limit=limit)
    return [_entry(row) for row in rows], graph.read("audit/count", **given)[0]["total"]


def prune_audit(graph: Graph, days: int) -> int:
    """Forget what is older than that, at most 10,000 a call; how many."""
    return graph.write("audit/prune", days=days)[0]["pruned"]


def _entry(row: Row) -> AuditEntry:
    entry = row["entry"]
    outcome = json.loads(entry["outcome"])
    more = {"at": entry["at"].to_native(), "outcome": outcome, "key_name": row["key_name"]}
    return AuditEntry.model_validate({**entry, **more})
