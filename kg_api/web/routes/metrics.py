"""Metrics for Prometheus: of this process, or of all processes of `kg up` together."""

from __future__ import annotations

from fastapi import APIRouter, Response

from kg_api.metrics import CONTENT_TYPE, exposition

router = APIRouter(tags=["health"])


@router.get("/metrics", summary="Metrics in Prometheus' text format", response_class=Response)
def metrics() -> Response:
    """Give counters and histograms: embeddings, their latency, errors and tokens."""
    return Response(exposition(), media_type=CONTENT_TYPE)
