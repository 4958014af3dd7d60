"""An answer told by Server-Sent Events while it is written."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import structlog
from anyio.to_thread import run_sync
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from kg_api.answer.service import Writing
from kg_api.errors import KgError
from kg_api.models.queries.answering import Answered, AnswerEvent
from kg_api.web.problems import of_error
from kg_api.web.streams import CLOSING_SECONDS, PING_SECONDS, STUCK_SECONDS

log = structlog.get_logger()


class AnswerStream(EventSourceResponse):
    """One answer; whoever hangs up ends it."""

    def __init__(self, writing: Writing) -> None:
        closing = anyio.Event()
        super().__init__(
            _events(writing, closing),
            ping=PING_SECONDS,
            send_timeout=STUCK_SECONDS,
            shutdown_event=closing,
            shutdown_grace_period=CLOSING_SECONDS,
        )
        self._writing = writing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it (ASGI)."""
        async with closed_after(self._writing):
            await super().__call__(scope, receive, send)


@asynccontextmanager
async def closed_after(writing: Writing) -> AsyncGenerator[None]:
    """Close an answer that is being written with the context, also where it is cancelled."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(writing.close)


async def _events(writing: Writing, closing: anyio.Event) -> AsyncGenerator[ServerSentEvent]:
    own_thread = anyio.CapacityLimiter(1)  # those of other requests are not held up
    while not closing.is_set():
        try:
            event = await run_sync(writing.next, limiter=own_thread)
        except KgError as error:
            log.error("answer failed", error=type(error).__name__, detail=str(error))  # noqa: TRY400 - told
            yield ServerSentEvent(bytes(of_error(error).body).decode(), event="error")
            return
        if event is None:
            return
        if isinstance(event, Answered):
            yield ServerSentEvent(AnswerEvent(answer=event).model_dump_json(include={"answer"}), event="end")
        else:
            told = AnswerEvent(statement=event)
            yield ServerSentEvent(told.model_dump_json(include={"statement"}), event="statement")
