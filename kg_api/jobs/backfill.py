"""The scheduled job that finds what is not embedded as it should be, and clears old things away."""

from __future__ import annotations

import time

import structlog

from kg_api.graph.cache import prune_cache
from kg_api.graph.database import Graph
from kg_api.graph.due import count_due
from kg_api.graph.jobs import ensure_job, prune, rests
from kg_api.jobs.run import JobRun
from kg_api.jobs.source_embedding import KIND as SOURCE_EMBEDDING
from kg_api.spaces.plans import Plan, read_plans

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
        for plan in read_plans(self._graph).values():
            run.checkpoint()
            if plan.config.embed_on_ingest:
                self._enqueue_due(plan)
        prune(self._graph, days=KEEP_FINISHED_DAYS)
        while prune_cache(self._graph, self._cache_entries):
            run.checkpoint()
        run.finish()

    def _enqueue_due(self, plan: Plan) -> None:
        due = count_due(self._graph, plan.ontology, plan.mark)
        if not due or rests(
            self._graph, SOURCE_EMBEDDING, plan.ontology, at_most=time.monotonic() - self._begun
        ):
            return
        job_id, created = ensure_job(self._graph, SOURCE_EMBEDDING, plan.ontology, total=due)
        if created:
            log.info("backfill enqueued", job_id=job_id, ontology=plan.ontology, due=due)
