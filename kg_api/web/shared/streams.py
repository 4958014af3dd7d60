"""Server-Sent Events. A stream ends with the client or the service, and does not use a thread to wait."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final

import anyio
import structlog
from anyio.to_thread import run_sync
from pydantic.main import IncEx
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from kg_api.errors import KgError, TooBusy
from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job, list_recent_jobs
from kg_api.schemas.operations import FINISHED, Job

log = structlog.get_logger()

Look = Callable[[], Sequence[Job]]
Events = Callable[[anyio.Event], AsyncGenerator[ServerSentEvent]]
"""Function to yield events until the service closes."""

POLL_SECONDS = 0.5
PING_SECONDS = 10
STUCK_SECONDS = 30
"""Time that a client can read nothing."""
CLOSING_SECONDS = 2
"""Time for streams to stop at shutdown."""
READING_THREADS = 4
"""Threads to use for all job streams. They do not block other requests."""
RATE: Final[IncEx] = {"rate", "eta_seconds"}
"""Fields that only change with time."""


class EventStream(EventSourceResponse):
    """Event stream, in a context that starts with the first byte and ends with the last."""

    def __init__(self, events: Events, within: AbstractAsyncContextManager[None]) -> None:
        closing = anyio.Event()
        super().__init__(
            events(closing),
            ping=PING_SECONDS,
            send_timeout=STUCK_SECONDS,
            shutdown_event=closing,
            shutdown_grace_period=CLOSING_SECONDS,
        )
        self._within = within

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._within:
            await super().__call__(scope, receive, send)


class JobStreams:
    """Job streams in this process. Between polls, they do not use a database connection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        self._threads = anyio.CapacityLimiter(READING_THREADS)

    def stream_job(self, graph: Graph, job_id: str) -> EventStream:
        """Stream the events of one job until it ends."""
        look = partial(find_job, graph, job_id)
        return EventStream(partial(self._stream, lambda: [look()], until_ended=True), self._one_more())

    def stream_all(self, graph: Graph, ontology: str | None) -> EventStream:
        """Stream events for all jobs or for an ontology, until the client disconnects."""
        look = partial(list_recent_jobs, graph, ontology)
        return EventStream(partial(self._stream, look, until_ended=False), self._one_more())

    @asynccontextmanager
    async def _one_more(self) -> AsyncGenerator[None]:
        if self._open >= self._most:
            raise TooBusy(f"{self._open} event streams are open, the maximum: poll the job instead")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _stream(
        self, look: Look, closing: anyio.Event, *, until_ended: bool
    ) -> AsyncGenerator[ServerSentEvent]:
        """Poll jobs, and yield them when they have changed."""
        told: dict[str, Job] = {}
        while not closing.is_set():
            try:
                jobs = await run_sync(look, limiter=self._threads)
            except KgError as error:  # the client requests the job next and gets the error
                log.info("a stream of events ends", reason=str(error))
                return
            for job in jobs:
                before = told.get(job.job_id)
                if not before or job.model_dump(exclude=RATE) != before.model_dump(exclude=RATE):
                    ended = job.state in FINISHED
                    yield ServerSentEvent(job.model_dump_json(), event="end" if ended else "progress")
            if until_ended and all(job.state in FINISHED for job in jobs):
                return
            told = {job.job_id: job for job in jobs}
            with anyio.move_on_after(POLL_SECONDS):
                await closing.wait()
