"""The job that finds the communities of an ontology: read its concepts, find, write, and show all at once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import structlog

from kg_api.communities.concept_graph import read_concept_graph
from kg_api.communities.detection import Detected, detect_communities
from kg_api.communities.summary import CommunitySummary, mark_of
from kg_api.graph.communities.concept_graph import OntologySize, read_size
from kg_api.graph.communities.generations import (
    Generation,
    begin_generation,
    discard_portion,
    publish,
    write_communities,
    write_members,
)
from kg_api.graph.database import Graph, Transaction, portions
from kg_api.graph.jobs.records import COMMUNITY_DETECTION
from kg_api.jobs.run import JobRun
from kg_api.model_settings.communities import CommunitySettings

log = structlog.get_logger()

WRITTEN_AT_ONCE: Final = 1000
"""Communities, or concepts with those that they are in."""
Write = Callable[[Transaction], bool]


class CommunityDetection:
    """Handles jobs of kind `community_detection`.

    It has no place to go on from: what is read must be read together. So it lets nobody go first in the
    middle, and begins anew when it was broken off; what it has written by then is discarded.
    """

    kind = COMMUNITY_DETECTION

    def __init__(self, graph: Graph, settings: CommunitySettings) -> None:
        self._graph = graph
        self._settings = settings

    def run(self, run: JobRun) -> None:
        """Find the communities of the job's ontology."""
        while True:
            if (ontology := run.job.ontology) is not None:
                self._make(run, Generation(ontology, uuid.uuid4().hex))
            if run.finish():
                return

    def _make(self, run: JobRun, made: Generation) -> None:
        size = read_size(self._graph, made.ontology)
        if not _commit(run, partial(begin_generation, made=made)):
            return
        while run.commit(partial(discard_portion, ontology=made.ontology), after=run.cursor, done=0):
            run.require_running()
        read = read_concept_graph(
            self._graph, made.ontology, most=self._settings.max_concepts, between=run.require_running
        )
        limits = {"max_size": self._settings.max_size, "min_size": self._settings.min_size}
        found = detect_communities(read, made.ontology, **limits)
        run.expect(len(found.members))
        if all(_commit(run, write, done) for write, done in self._writes(made, found, size)):
            log.info("communities detected", ontology=made.ontology, levels=found.levels)
        else:
            log.info("communities discarded: another job makes them, or the ontology has gone")

    def _writes(self, made: Generation, found: Detected, size: OntologySize) -> Iterator[tuple[Write, int]]:
        """What is to be written, in order, and how many concepts each stands for."""
        for some in portions(found.communities, WRITTEN_AT_ONCE):
            yield partial(write_communities, made=made, communities=some), 0
        for several in portions(found.members, WRITTEN_AT_ONCE):
            yield partial(write_members, made=made, members=several), len(several)
        summary = CommunitySummary(
            mark=mark_of(self._settings),
            levels=found.levels,
            grouped=len(found.members),
            left_out=found.left_out,
            concepts=size.concepts,
            relationships=size.relationships,
            sources=size.sources,
        )
        yield partial(publish, made=made, summary=summary.model_dump_json(), at=size.at), 0


def _commit(run: JobRun, write: Write, done: int = 0) -> bool:
    run.require_running()
    return run.commit(write, after=run.cursor, done=done)
