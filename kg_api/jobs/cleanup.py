"""The job that deletes dropped spaces in portions."""

from __future__ import annotations

from functools import partial
from typing import get_args

from kg_api.graph.client import Graph, Transaction
from kg_api.graph.spaces import (
    CLEANUP,
    DroppedSpace,
    Vectored,
    delete_space,
    drop_indexes,
    is_still_dropped,
    list_dropped_spaces,
    remove_vector_batch,
)
from kg_api.jobs.runner import JobRun

SETTLED_SECONDS = 5  # by then, all searches and batches that still use the space have ended


class SpaceCleanup:
    kind = CLEANUP

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def run(self, run: JobRun) -> None:
        """Remove all dropped spaces. Idempotent."""
        while True:
            for dropped in list_dropped_spaces(self._graph):
                if dropped.seconds < SETTLED_SECONDS:
                    run.pause(SETTLED_SECONDS - dropped.seconds)
                self._remove(run, dropped)
            if run.finish():
                return

    def _remove(self, run: JobRun, dropped: DroppedSpace) -> None:
        # Check again as the job's owner: a suspended worker must not delete newer data
        if not run.commit(partial(is_still_dropped, dropped=dropped), after=run.cursor, done=0):
            return
        drop_indexes(self._graph, dropped)
        for of in get_args(Vectored):
            name = f"{dropped.slug}/{of}/"
            place: str | None = run.cursor.removeprefix(name) if run.cursor.startswith(name) else ""
            while place is not None:
                run.checkpoint()
                remove = partial(_remove_portion, dropped=dropped, of=of, after=place)
                place = run.commit(remove, after=f"{name}{place}", done=0)
        run.commit(lambda tx: delete_space(tx, dropped), after="", done=0)


def _remove_portion(tx: Transaction, dropped: DroppedSpace, of: Vectored, after: str) -> str | None:
    return remove_vector_batch(tx, dropped, of, after) if is_still_dropped(tx, dropped) else None
