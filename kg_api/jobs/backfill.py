"""The scheduled job that finds what lacks a vector and has no job yet, and clears old jobs away."""

from __future__ import annotations

import structlog

from kg_api.graph.database import Graph
from kg_api.graph.jobs import ensure_job, prune
from kg_api.graph.library import ontology_names
from kg_api.graph.spaces import Space
from kg_api.graph.vectors import count_without_vector
from kg_api.jobs.run import JobRun
from kg_api.jobs.source_embedding import KIND as SOURCE_EMBEDDING

log = structlog.get_logger()

KIND = "backfill"
KEEP_FINISHED_DAYS = 7


class Backfill:
    """Handles jobs of kind `backfill`; it only enqueues."""

    kind = KIND

    def __init__(self, graph: Graph, space: Space) -> None:
        self._graph = graph
        self._space = space

    def run(self, run: JobRun) -> None:
        """Look at every ontology once."""
        for ontology in ontology_names(self._graph):
            run.checkpoint()
            self._enqueue_missing(ontology)
        prune(self._graph, days=KEEP_FINISHED_DAYS)
        run.finish()

    def _enqueue_missing(self, ontology: str) -> None:
        missing = count_without_vector(self._graph, ontology, self._space.fingerprint)
        if not missing:
            return
        job_id, created = ensure_job(self._graph, SOURCE_EMBEDDING, ontology, total=missing)
        if created:
            log.info("backfill enqueued", job_id=job_id, ontology=ontology, missing=missing)
