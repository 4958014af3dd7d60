"""The scheduled job that finds what is not embedded as it should be, and clears old things away."""

from __future__ import annotations

import time

import structlog

from kg_api.graph.cache import prune_cache
from kg_api.graph.database import Graph
from kg_api.graph.dropping import ask_for_cleanup, leftovers
from kg_api.graph.due import count_due
from kg_api.graph.jobs import ensure_job, prune, rests
from kg_api.jobs.run import JobRun
from kg_api.jobs.source_embedding import KIND as SOURCE_EMBEDDING
from kg_api.spaces.plans import Standing, read_standings

log = structlog.get_logger()

KIND = "backfill"
KEEP_FINISHED_DAYS = 7


class Backfill:
    """Handles jobs of kind `backfill`; it only enqueues, and keeps the cache in its bounds."""

    kind = KIND

    def __init__(self, graph: Graph, cache_entries: int) -> None:
        self._graph = graph
        self._cache_entries = cache_entries
        self._begun = time.monotonic()

    def run(self, run: JobRun) -> None:
        """Look at every ontology once."""
        for standing in read_standings(self._graph).values():
            run.checkpoint()
            configured = standing.configured
            if configured.embed_on_ingest and not configured.paused:
                self._enqueue_due(standing)
        if leftovers(self._graph):
            self._graph.transaction(ask_for_cleanup)
        prune(self._graph, days=KEEP_FINISHED_DAYS)
        while prune_cache(self._graph, self._cache_entries):
            run.checkpoint()
        run.finish()

    def _enqueue_due(self, standing: Standing) -> None:
        name = standing.ontology
        due = max(count_due(self._graph, standing.wanted(plan)) for plan in standing.plans)
        complete = standing.serving is not None and standing.configured.activates and not due
        if not (due or complete) or rests(
            self._graph, SOURCE_EMBEDDING, name, at_most=time.monotonic() - self._begun
        ):
            return
        job_id, created = ensure_job(self._graph, SOURCE_EMBEDDING, name, total=due)
        if created:
            log.info("backfill enqueued", job_id=job_id, ontology=name, due=due)
