"""What is changed over REST is written down: when, with which key, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

import structlog
from fastapi import Request
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg_api.access.audit import AuditWriter
from kg_api.graph.keys.audit import AuditRecord
from kg_api.models.keys import without_secrets
from kg_api.web.access.door import access_of
from kg_api.web.access.scopes import scope_of

MAX_READ = 1_000_000
"""Bytes of an answer that are read for what it says was changed."""
MAX_VALUE = 200
SEE_OTHER = 303
"""What a page answers when a form was carried out."""
_TOLD = "kg_outcome"
"""Where a request's state has what a page says was changed."""
OUTCOMES: Final = frozenset(
    {
        *("ontology", "document", "document_id", "change", "job_id", "documents", "sources", "concepts"),
        *("relations", "rejected", "matched", "dry_run", "applied", "key_id", "name", "scope", "slug"),
        *("folder_id", "proposal_id", "state", "merge_id", "community_id", "type"),
        *("stored", "replaced", "unchanged", "vectors", "relevance", "judgements", "judgement_id"),
    }
)
"""Fields of answers that say what was changed."""


class AuditLog:
    """Has every request written down that changed something.

    Args:
        app: what comes next; it knows who asks.
        writer: writes.
    """

    def __init__(self, app: ASGIApp, writer: AuditWriter) -> None:
        self.app = app
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await self.app(scope, receive, send)
            return
        answer = _Answer()

        async def sending(message: Message) -> None:
            if answer.status or (message["type"] == "http.response.start" and _changes(scope)):
                answer.see(message)  # the route is known when the answer begins; what only reads is passed by
            await send(message)

        await self.app(scope, receive, sending)
        if answer.may_have_changed:
            self._writer.add(_record(scope, answer))


class _Answer:
    """The status of an answer, and its beginning."""

    def __init__(self) -> None:
        self.status = 0
        self._body = bytearray()
        self._is_long = False

    def see(self, message: Message) -> None:
        """A part of it is sent."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body" and not self._is_long:
            part = message.get("body", b"")
            self._is_long = len(self._body) + len(part) > MAX_READ
            self._body += b"" if self._is_long else part

    @property
    def may_have_changed(self) -> bool:
        """Pages lead elsewhere when it is done; what failed in the middle may have been done in part."""
        done = 200 <= self.status < 300 or self.status == SEE_OTHER  # noqa: PLR2004 - as HTTP has it
        return done or self.status >= 500  # noqa: PLR2004

    def outcome(self) -> dict[str, str | int | bool]:
        """What it says was changed."""
        try:
            said: Any = None if self._is_long else json.loads(self._body)
        except ValueError:
            return {}
        return present_outcome(cast("dict[str, Any]", said)) if isinstance(said, dict) else {}


def note_outcome(request: Request, answer: BaseModel) -> None:
    """Say what a request changed, where its answer is a page."""
    request.scope["state"][_TOLD] = present_outcome(answer.model_dump(mode="json"))


def present_outcome(answer: Mapping[str, Any]) -> dict[str, str | int | bool]:
    """Of an answer names, ids and counts; of several documents, how many were stored."""
    told = {name: value for name, value in answer.items() if name in OUTCOMES and _is_short(value)}
    if isinstance(kept := answer.get("kept"), list):
        told["kept"] = len(cast("list[Any]", kept))
    if isinstance(outcomes := answer.get("outcomes"), list):
        stored = [each["ingested"] for each in cast("list[Any]", outcomes) if each.get("ingested")]
        told["documents"] = len(stored)
        if len(of := {each["ontology"] for each in stored}) == 1:
            told["ontology"] = of.pop()
    return told


def _is_short(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= MAX_VALUE)


def _changes(scope: Scope) -> bool:
    route = scope.get("route")
    path_format = getattr(route, "path_format", None)
    return path_format is not None and scope_of(scope["method"], path_format) != "read"


def _record(scope: Scope, answer: _Answer) -> AuditRecord:
    return AuditRecord(
        key_id=access_of(scope).key_id,
        method=scope["method"],
        path=without_secrets(scope["path"][:500]),
        status=answer.status,
        request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
        outcome=scope["state"].get(_TOLD) or answer.outcome(),
    )
