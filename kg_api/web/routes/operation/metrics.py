"""Metrics for Prometheus: of this process, or of all processes of `kg up` together."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from kg_api.metrics.exposition import CONTENT_TYPE, exposition
from kg_api.metrics.queue import QueueGauges
from kg_api.web.health.queue import QueueWatch

router = APIRouter(tags=["health"])


TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics."}
}


@router.get("/metrics", summary="Prometheus metrics", response_class=Response, responses=TEXT)
def metrics(request: Request) -> Response:
    """Give counters and histograms of embeddings, and gauges of the queue as it is at this moment."""
    watch: QueueWatch = request.app.state.queue
    return Response(exposition(QueueGauges(watch.status_if_known())), media_type=CONTENT_TYPE)
