"""Jobs followed by Server-Sent Events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

import anyio
import structlog
from anyio.to_thread import run_sync
from pydantic.main import IncEx
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from kg_api.errors import KgError, TooBusy
from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job, lately
from kg_api.schemas.operations import FINISHED, Job

log = structlog.get_logger()

Look = Callable[[], Sequence[Job]]

POLL_SECONDS = 0.5
PING_SECONDS = 10
STUCK_SECONDS = 30
"""A reader that takes nothing for so long is given up."""
CLOSING_SECONDS = 2
"""When the service ends, a stream has so long to end well."""
READING_THREADS = 4
"""For all streams together, so that they never stand in the way of other requests."""
RATE: Final[IncEx] = {"rate", "eta_seconds"}
"""Of a job, that changes with time alone."""
NO_NEWS: Final[IncEx] = {"rate": True, "eta_seconds": True, "waits_for": {"done", "total", *RATE}}
"""How far the job is that others wait for, either, where many are followed."""


class Streams:
    """All who follow jobs at this moment: at most so many, and none holds a connection between two looks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        self._threads = anyio.CapacityLimiter(READING_THREADS)

    @contextmanager
    def one_more(self) -> Generator[None]:
        """Count a stream as long as it is open.

        Raises:
            TooBusy: there are too many.
        """
        if self._open >= self._most:
            raise TooBusy(f"{self._open} event streams are open, the maximum: poll the job instead")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def of_job(self, graph: Graph, job_id: str) -> EventStream:
        """Tell of one job until it has ended."""
        return EventStream(self, lambda: [find_job(graph, job_id)], until_ended=True)

    def of_all(self, graph: Graph, ontology: str | None) -> EventStream:
        """Tell of all jobs, or those of one ontology, until nobody listens."""
        return EventStream(self, lambda: lately(graph, ontology), until_ended=False)

    async def events(
        self, look: Look, closing: anyio.Event, *, until_ended: bool
    ) -> AsyncGenerator[ServerSentEvent]:
        """Look at jobs again and again and tell what has changed, until the service closes."""
        told: dict[str, Job] = {}
        while not closing.is_set():
            try:
                jobs = await run_sync(look, limiter=self._threads)
            except KgError as error:  # whoever follows asks for the job, and is told by that
                log.info("a stream of events ends", reason=str(error))
                return
            for job in jobs:
                if _is_news(job, told.get(job.job_id), RATE if until_ended else NO_NEWS):
                    yield _event(job)
            if until_ended and all(job.state in FINISHED for job in jobs):
                return
            told = {job.job_id: job for job in jobs}
            with anyio.move_on_after(POLL_SECONDS):
                await closing.wait()


class EventStream(EventSourceResponse):
    """One stream; it is counted from its first byte to its last."""

    def __init__(self, streams: Streams, look: Look, *, until_ended: bool) -> None:
        closing = anyio.Event()
        super().__init__(
            streams.events(look, closing, until_ended=until_ended),
            ping=PING_SECONDS,
            send_timeout=STUCK_SECONDS,
            shutdown_event=closing,
            shutdown_grace_period=CLOSING_SECONDS,
        )
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.one_more():
            await super().__call__(scope, receive, send)


def _event(job: Job) -> ServerSentEvent:
    return ServerSentEvent(job.model_dump_json(), event="end" if job.state in FINISHED else "progress")


def _is_news(job: Job, told: Job | None, but: IncEx) -> bool:
    """Whether anything has changed but what is left out."""
    return told is None or job.model_dump(exclude=but) != told.model_dump(exclude=but)
