"""What was changed over REST, when and with which key."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from kg_api.models.base import Answer


class AuditEntry(Answer):
    """A request that changed something."""

    at: datetime
    key_id: str
    """Id of the key that it was sent with; `local`: a command on the machine of the service; `anyone`: the
    service asks for no key."""
    key_name: str | None = None
    """Null: the key is none, or is not there any more."""
    method: str
    path: str
    """As it was sent, without its query."""
    status: int
    """Of HTTP, 200 to 299."""
    request_id: str
    """As in the log of requests."""
    outcome: dict[str, str | int | bool] = Field(default_factory=dict)
    """Of the answer what says what was changed: names, ids and counts, no text."""


class AuditPage(Answer):
    """A page of what was changed, the newest first."""

    entries: list[AuditEntry]
    total: int
    offset: int
    limit: int
