"""The scheduled job that enqueues pending work and deletes old data, and its scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from kg_api.errors import DatabaseUnavailable
from kg_api.extraction.llm import ExtractionRequests
from kg_api.graph.cache import prune_cache
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import read_extractions
from kg_api.graph.filters import prune_writes
from kg_api.graph.folders import enqueue_due
from kg_api.graph.jobs import enqueue_slot, ensure_job, must_wait_to_restart, prune
from kg_api.graph.keys import prune_audit, prune_sessions
from kg_api.graph.relations import PORTION, finish_renaming
from kg_api.graph.schema import read_index_states
from kg_api.graph.spaces import ensure_index, hold_configurations, list_unused_vectors, request_cleanup
from kg_api.graph.targets import KINDS, MAIN_KINDS
from kg_api.graph.vectors import Flags, count_due
from kg_api.jobs.runner import JobRun, WorkerRegistration
from kg_api.schemas.vocabulary import EmbeddedKind, Modality
from kg_api.spaces.plans import EmbeddingState, activate_complete, read_embedding_states

# Scheduled job

log = structlog.get_logger()

KIND = "backfill"
KEEP_FINISHED_DAYS = 7
KEEP_AUDIT_DAYS = 365


class Backfill:
    """Handles jobs of kind `backfill`: enqueues work, deletes old data, and limits the cache."""

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        cache_entries: int,
        extraction: ExtractionRequests | None = None,
        collect: Callable[[], int] = lambda: 0,
        *hooks: Callable[[], None],
    ) -> None:
        self._hooks = hooks
        self._graph = graph
        self._collect = collect
        self._extraction = extraction
        self._cache_entries = cache_entries
        self._begun = time.monotonic()
        self._indexes: Collection[str] = ()
        self._flags = Flags(graph)

    def run(self, run: JobRun) -> None:
        self._indexes = read_index_states(self._graph).keys()
        for state in read_embedding_states(self._graph).values():
            run.checkpoint()
            self._reconcile(state)
        if self._extraction is not None:
            for stored in read_extractions(self._graph):
                run.checkpoint()
                self._extraction.start_pending(stored)
        if list_unused_vectors(self._graph):
            self._graph.transaction(request_cleanup)
        prune(self._graph, days=KEEP_FINISHED_DAYS)
        prune_audit(self._graph, KEEP_AUDIT_DAYS)
        prune_sessions(self._graph)
        finish_renaming(self._graph, checkpoint=run.checkpoint)
        self._graph.write("relations/delete_unused_types", limit=PORTION)
        while prune_cache(self._graph, self._cache_entries) or prune_writes(self._graph):
            run.checkpoint()
        for look in self._hooks:
            run.checkpoint()
            look()
        if deleted := self._collect():
            log.info("unused images deleted", files=deleted)
        run.finish()

    def _reconcile(self, state: EmbeddingState) -> None:
        """Enqueue pending items, activate complete spaces, and create missing indexes."""
        for plan in (*state.texts, *state.images):
            if not set(plan.space.index_names) <= set(self._indexes):
                ensure_index(self._graph, plan.space)
        # Not with two layouts, because they need two fingerprints of a source
        ontology, configured = state.ontology, state.configured
        if state.serving is None:
            self._flags.keep(
                ontology,
                state.target.mark,
                lambda tx: hold_configurations(tx, [ontology]).get(ontology) == configured,
            )
        unfinished, most = set[Modality](), dict[EmbeddedKind, int]()
        for kind, about in KINDS.items():
            targets = {plan.mark for plan in state.targets(kind)}
            counts = {plan.mark: count_due(self._graph, plan.build_query()) for plan in state.plans(kind)}
            most[kind] = max(counts.values(), default=0)
            if any(counts[mark] for mark in targets):
                unfinished.add(about.modality)
        for modality in MAIN_KINDS:
            if modality not in unfinished:
                activate_complete(self._graph, state, modality)
        if state.configured.embed_on_ingest and not state.configured.paused:
            for kind, due in most.items():
                self._enqueue(KINDS[kind].job, state.ontology, due)

    def _enqueue(self, kind: str, name: str, due: int) -> None:
        if not due or must_wait_to_restart(self._graph, kind, name, at_most=time.monotonic() - self._begun):
            return
        job_id, created = ensure_job(self._graph, kind, name, total=due)
        if created:
            log.info("backfill enqueued", job_id=job_id, kind=kind, ontology=name, due=due)


# Schedule: each APScheduler tick enqueues the job of its time slot

LIFE_SECONDS = 5.0
ALWAYS: dict[str, Any] = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
"""One tick replaces all missed ticks, regardless of their age."""


@contextmanager
def enqueue_periodically(
    graph: Graph, tick_seconds: float, presence: WorkerRegistration | None = None
) -> Generator[None]:
    """Enqueue a backfill now and at each interval, and send heartbeats, while the context is open."""
    # Every worker ticks. The slot id, from the time of the database, merges their ticks into one job. Each
    # tick also enqueues pending folder scans.
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
        enqueue_slot(graph, KIND, every_seconds=tick_seconds)
        enqueue_due(graph)
    except DatabaseUnavailable as error:
        log.warning("tick missed", reason=str(error))
