"""The job that deletes unused vectors in portions."""

from __future__ import annotations

from functools import partial
from typing import get_args

from kg_api.graph.client import Graph, Transaction
from kg_api.graph.spaces import (
    CLEANUP,
    UnusedVectors,
    Vectored,
    delete_leftover,
    drop_indexes,
    is_still_wanted,
    list_unused_vectors,
    remove_vector_batch,
)
from kg_api.jobs.runner import JobRun

SETTLED_SECONDS = 5  # by then, all searches and batches that still use the space have ended


class SpaceCleanup:
    kind = CLEANUP

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def run(self, run: JobRun) -> None:
        """Remove all recorded leftovers. Idempotent."""
        while True:
            for leftover in list_unused_vectors(self._graph):
                if leftover.slug is not None and leftover.seconds < SETTLED_SECONDS:
                    run.pause(SETTLED_SECONDS - leftover.seconds)
                self._remove(run, leftover)
            if run.finish():
                return

    def _remove(self, run: JobRun, leftover: UnusedVectors) -> None:
        # Check again as the job's owner: a suspended worker must not delete newer data
        if not run.commit(partial(is_still_wanted, leftover=leftover), after=run.cursor, done=0):
            return
        if leftover.slug is not None:
            drop_indexes(self._graph, leftover)
        for of in get_args(Vectored):
            name = f"{leftover.name}/{of}/"
            place: str | None = run.cursor.removeprefix(name) if run.cursor.startswith(name) else ""
            while place is not None:
                run.checkpoint()
                remove = partial(_remove_portion, leftover=leftover, of=of, after=place)
                place = run.commit(remove, after=f"{name}{place}", done=0)
        run.commit(lambda tx: delete_leftover(tx, leftover), after="", done=0)


def _remove_portion(tx: Transaction, leftover: UnusedVectors, of: Vectored, after: str) -> str | None:
    return remove_vector_batch(tx, leftover, of, after) if is_still_wanted(tx, leftover) else None
