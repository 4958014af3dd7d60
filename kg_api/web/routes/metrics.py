"""Metrics for Prometheus: of this process, or of all processes of `kg up` together."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from kg_api.metrics import CONTENT_TYPE, QueueGauges, exposition
from kg_api.web.queue_watch import QueueWatch

router = APIRouter(tags=["health"])


@router.get("/metrics", summary="Metrics in Prometheus' text format", response_class=Response)
def metrics(request: Request) -> Response:
    """Give counters and histograms of embeddings, and gauges of the queue as it is at this moment."""
    watch: QueueWatch = request.app.state.queue
    return Response(exposition(QueueGauges(watch.status_if_known())), media_type=CONTENT_TYPE)
