"""API keys: what they may do, until when, when they were used, and what was changed with them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from kg_api.models.base import Answer, Body, Flag, OntologyName
from kg_api.models.vocabulary import (
    MAX_KEY_DAYS,
    MAX_KEY_NAME,
    MAX_KEY_ONTOLOGIES,
    MAX_OVERLAP_HOURS,
    USUAL_OVERLAP_HOURS,
    KeyScope,
    KeyState,
)

WHOLE_KEY: Final = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})_[A-Za-z0-9_-]{43}")
"""A key as its owner has it."""
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_LIKE_A_KEY = re.compile(r"kg_(?P<key_id>[0-9a-f]{8})(_[A-Za-z0-9_.-]*)?")
KEY_NAME_PATTERN = r"^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.@+\- ]*[\p{L}\p{M}\p{N}_])?$"


def _no_id(name: str) -> str:
    if _KEY_ID.fullmatch(name) or _LIKE_A_KEY.search(name):
        raise ValueError("looks like a key or the id of one: take another name")
    return name


def key_id_in(called: str) -> str:
    """The id, where a key itself is given, or its beginning; else what is given."""
    found = _LIKE_A_KEY.fullmatch(called)
    return found["key_id"] if found else called


def without_secrets(text: str) -> str:
    """A text in which keys are cut to their ids."""
    return _LIKE_A_KEY.sub(r"kg_\g<key_id>", text)


KeyOntologies = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_KEY_ONTOLOGIES)]


class NewKey(Body):
    """A key that somebody is to be given."""

    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_KEY_NAME, pattern=KEY_NAME_PATTERN),
        AfterValidator(_no_id),
    ]
    """Who or what it is for: letters, digits, `_`, `-`, `.`, `@`, `+` and inner spaces. To make a key, the
    name must not be that of one that can be used."""
    scope: KeyScope = "read"
    """`read` searches and reads; `write` also changes documents and concepts, and has work done; `admin` also
    changes models and configurations, follows folders, deletes ontologies, and makes keys."""
    ontologies: KeyOntologies | None = None
    """To whoever sends it there are no others, whether these are there yet or not; null: all."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)
    """Null: until it is revoked."""


class KeyRotation(Body):
    """A key is replaced."""

    overlap_hours: float = Field(default=USUAL_OVERLAP_HOURS, ge=0, le=MAX_OVERLAP_HOURS)
    """For so long the old key is good beside the new one."""
    valid_days: int | None = Field(default=None, ge=1, le=MAX_KEY_DAYS)
    """Of the new one; null: as long as the old one was made for."""


class ApiKey(Answer):
    """A key; its secret is stored nowhere."""

    key_id: str
    """Stands in the key itself, behind `kg_`; also in the log of requests."""
    name: str
    scope: KeyScope
    ontologies: list[str] | None = None
    """Those that it is for; null: all."""
    state: KeyState
    created_at: datetime
    created_by: str
    """Id of the key that it was made with; `local`: by somebody on the machine of the service."""
    expires_at: datetime | None = None
    """Null: never."""
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """To the minute; null: never."""
    replaces: str | None = None
    """Id of the key that it was made to replace."""


class CreatedKey(ApiKey):
    """A key that was just made."""

    key: str
    """To be sent as `Authorization: Bearer ...`. Shown here and never again."""


class ApiKeys(Answer):
    """All keys, the newest first."""

    keys: list[ApiKey]
    required: Flag
    """Whether the service answers nobody without a key."""


class AuditEntry(Answer):
    """A request that changed something, or failed and may have."""

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
    """Of HTTP: below 400; from 500 on where it failed, and may have been done in part."""
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
