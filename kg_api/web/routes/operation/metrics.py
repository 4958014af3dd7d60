"""Metrics for Prometheus: of this process, or of all processes of `kg up` together."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from kg_api.metrics.backups import BackupGauges
from kg_api.metrics.exposition import CONTENT_TYPE, exposition
from kg_api.metrics.queue import QueueGauges
from kg_api.web.health.queue import QueueWatch
from kg_api.web.health.surroundings import Surroundings

router = APIRouter(tags=["health"])


TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics."}
}


@router.get("/metrics", summary="Prometheus metrics", response_class=Response, responses=TEXT)
def metrics(request: Request) -> Response:
    """Give counters and histograms, and gauges of the queue and of backups as they are at this moment."""
    watch: QueueWatch = request.app.state.queue
    surroundings: Surroundings = request.app.state.surroundings
    last = surroundings.last_backup()
    backups = BackupGauges(last and last.made, failed=None if last is None else last.trouble() is not None)
    return Response(exposition(QueueGauges(watch.status_if_known()), backups), media_type=CONTENT_TYPE)
