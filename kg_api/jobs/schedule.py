"""The schedule: APScheduler ticks, a tick enqueues the slot's job, nothing else happens here."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.database import Graph
from kg_api.graph.documents.folders import enqueue_due
from kg_api.graph.jobs import enqueue_slot
from kg_api.jobs.backfill import KIND as BACKFILL
from kg_api.jobs.registration import WorkerRegistration

log = structlog.get_logger()

LIFE_SECONDS = 5.0
ALWAYS: dict[str, Any] = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
"""Missed ticks, however old, are made up for by one."""


@contextmanager
def ticking(graph: Graph, tick_seconds: float, presence: WorkerRegistration | None = None) -> Generator[None]:
    """Enqueue a backfill now and every so many seconds while the context is open, and tell that one lives.

    Every worker ticks; the slot's id makes their ticks one job. The slot is of the database's time. The scans
    of folders that are due are enqueued with it.
    """
    scheduler = BackgroundScheduler(timezone=UTC)
    at_once = datetime.now(UTC)
    scheduler.add_job(
        _tick, "interval", args=(graph, tick_seconds), seconds=tick_seconds, next_run_time=at_once, **ALWAYS
    )
    if presence is not None:
        scheduler.add_job(presence.report, "interval", seconds=LIFE_SECONDS, next_run_time=at_once, **ALWAYS)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
        if presence is not None:
            presence.end()


def _tick(graph: Graph, tick_seconds: float) -> None:
    try:
        enqueue_slot(graph, BACKFILL, every_seconds=tick_seconds)
        enqueue_due(graph)
    except DatabaseUnavailable as error:
        log.warning("tick missed", reason=str(error))
