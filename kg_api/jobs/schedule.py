"""The schedule: APScheduler ticks, a tick enqueues the slot's job, nothing else happens here."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.database import Graph
from kg_api.graph.jobs import enqueue_slot
from kg_api.jobs.backfill import KIND as BACKFILL

log = structlog.get_logger()


@contextmanager
def ticking(graph: Graph, tick_seconds: float) -> Generator[None]:
    """Enqueue a backfill now and every so many seconds while the context is open.

    Every worker ticks; the slot's id makes their ticks one job. Missed ticks are made up for by one.
    """
    scheduler = BackgroundScheduler(timezone=UTC)
    scheduler.add_job(
        _tick,
        "interval",
        args=(graph, tick_seconds),
        seconds=tick_seconds,
        next_run_time=datetime.now(UTC),
        coalesce=True,
        misfire_grace_time=None,
        max_instances=1,
    )
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)


def _tick(graph: Graph, tick_seconds: float) -> None:
    try:
        enqueue_slot(graph, BACKFILL, str(int(time.time() // tick_seconds)))
    except DatabaseUnavailable as error:
        log.warning("tick missed", reason=str(error))
