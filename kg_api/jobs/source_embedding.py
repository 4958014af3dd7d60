"""The job that embeds an ontology's sources: fetch due -> chunk -> embed -> write, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict

from kg_api.graph.database import Graph
from kg_api.graph.due import count_due
from kg_api.graph.job_records import STALE
from kg_api.jobs.embedding_walk import Walk
from kg_api.jobs.embedding_work import Work
from kg_api.jobs.run import JobRun
from kg_api.models.jobs import Selection
from kg_api.planning.contexts import Contexts
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.plans import Plan, Standing, read_standings
from kg_api.spaces.registry import SpaceRegistry

KIND = "source_embedding"
DIVIDED_FROM = 1000
"""A job of so many sources is divided among the workers there are: half a minute of a local model's work."""
PARTS: Final = (":2", "2:4", "4:6", "6:8", "8:a", "a:c", "c:e", "e:")
"""Ranges of document ids, which are hexadecimal digests and so evenly spread."""
DIVIDED = "divided"
"""The cursor of a job whose parts were made: what they leave, in whatever way, it does itself."""
PARTS_SECONDS = 5.0
"""How often a divided job looks whether its parts have ended."""


class Asked(TypedDict):
    """What a job was asked for."""

    selection: Selection
    forced_at: Any


class SourceEmbedding:
    """Handles jobs of kind `source_embedding`.

    Memory is bounded by one batch of sources, or by one document where chunks cover several sources. A job
    of many sources is divided by document into parts, which several workers take. Texts without a vector go
    first; what is only stale is worth less, so new text of other ontologies goes before it.
    """

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        contexts: Contexts,
        passages: CachedPassages,
        batch_size: int,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._contexts = contexts
        self._passages = passages
        self._batch_size = batch_size

    def run(self, run: JobRun) -> None:
        """Embed what is due, as it answers now and as it shall, until nothing is left.

        What a round has passed over, for its text changed meanwhile or it stood before the cursor of a
        resumed job, is looked for in another round, as long as rounds get on.
        """
        while True:
            standing = read_standings(self._graph, run.job.ontology).get(run.job.ontology or "")
            if standing is not None and self._round(run, standing):
                run.begin_anew()
            elif run.finish():
                return

    def _round(self, run: JobRun, standing: Standing) -> bool:
        """Walk over all that is due; whether to go round again."""
        resumed = run.cursor not in {"", DIVIDED}
        divided = self._divided(run, standing)
        walk = Walk(self._graph, self._batch_size, run, standing)
        if not self._walked(walk, run, _plans(standing, run, divided=divided)):
            return True
        if divided:
            run.pause(PARTS_SECONDS)
        if not walk.is_current():
            return True
        crossing = any(plan.config.crosses_sources for plan in standing.plans)  # a neighbour may be due again
        if (resumed or walk.passed_over or crossing) and walk.left(_plans(standing, run, divided=False)):
            return walk.written > 0 or resumed
        if not run.job.part:
            activate_complete(self._graph, standing)
        return False

    def _walked(self, walk: Walk, run: JobRun, plans: Sequence[Plan]) -> bool:
        """Walk over what is new, then over the rest; False when more came in between, which goes first."""

        def through() -> None:
            for plan in plans:
                walk.through(plan, lambda plan=plan: self._work(plan, run))

        through()
        if not walk.new_only:
            return True
        walk.new_only = False
        if walk.is_current() and walk.left(plans):
            if not run.lower(STALE):
                return False
            through()
        return True

    def _divided(self, run: JobRun, standing: Standing) -> bool:
        """Whether others are to do parts of it; made once a round, when there is enough to share."""
        if run.job.part:
            return False
        if unfinished := bool(run.unfinished_parts()):
            return unfinished
        if run.cursor or (run.job.total - run.job.done < DIVIDED_FROM and standing.serving is None):
            return False
        left = [count_due(self._graph, standing.wanted(plan, **_asked(run))) for plan in standing.plans]
        run.expect(sum(left))
        if left[-1] >= DIVIDED_FROM:
            run.divide(PARTS, after=DIVIDED)
        return left[-1] >= DIVIDED_FROM

    def _work(self, plan: Plan, run: JobRun) -> Work:
        opened = self._spaces.of(plan.space)
        opened.assure()
        fresh = run.job.forced_at is not None
        return Work(self._graph, plan, opened, self._contexts, self._passages, fresh=fresh)


def _asked(run: JobRun) -> Asked:
    return {"selection": run.job.selection, "forced_at": run.job.forced_at}


def _plans(standing: Standing, run: JobRun, *, divided: bool) -> list[Plan]:
    """Parts make the target; while they do, the job itself keeps up what answers meanwhile."""
    if run.job.part:
        return [standing.target]
    return standing.plans[:-1] if divided else standing.plans
