"""The job that embeds an ontology's concepts, and has those merged that turn out to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kg_api.graph.concept_vectors import ConceptPlan, ConceptsWanted, concepts_before, count_due_concepts
from kg_api.graph.database import Graph
from kg_api.graph.job_records import CONCEPT_EMBEDDING
from kg_api.graph.spaces import Space
from kg_api.jobs.concept_walk import ConceptWalk, place
from kg_api.jobs.run import JobRun
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.plans import Standing, read_standings
from kg_api.spaces.registry import SpaceRegistry

KIND = CONCEPT_EMBEDDING

MergeNear = Callable[[Graph, Space, str, Iterable[str]], int]
"""Merges concepts of an ontology with those that are the same, by vectors of a space; how many went."""


class ConceptEmbedding:
    """Handles jobs of kind `concept_embedding`. Memory is bounded by one batch."""

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        batch_size: int,
        merge_near: MergeNear,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._passages = passages
        self._batch_size = batch_size
        self._merge_near = merge_near

    def run(self, run: JobRun) -> None:
        """Embed what is due, where it answers now and where it shall, until nothing is left.

        Concepts that were merged or found anew meanwhile have another text: another round embeds them, as
        long as rounds get on.
        """
        while True:
            standing = read_standings(self._graph, run.job.ontology).get(run.job.ontology or "")
            if standing is not None and self._round(run, standing):
                run.begin_anew()
            elif run.finish():
                return

    def _round(self, run: JobRun, standing: Standing) -> bool:
        """Walk over all that is due; whether to go round again."""
        resumed = run.cursor != ""
        wanted = [self._wanted(run, plan) for plan in standing.concept_plans]
        run.expect(sum(count_due_concepts(self._graph, each) for each in wanted))
        walk = ConceptWalk(self._graph, self._batch_size, run, standing, self._passages)
        for each in wanted:
            self._catch_up(run, each.plan)
            walk.through(each, lambda plan=each.plan: self._spaces.of(plan.space), self._merged)
        if not walk.is_current():
            return True
        if any(count_due_concepts(self._graph, each) for each in wanted):
            return walk.written > 0 or resumed
        activate_complete(self._graph, standing)
        return False

    def _wanted(self, run: JobRun, plan: ConceptPlan) -> ConceptsWanted:
        return ConceptsWanted(plan, run.job.selection, run.job.forced_at)

    def _merged(self, plan: ConceptPlan, concept_ids: Iterable[str]) -> None:
        """Merge by what answers: a space that is being built does not decide over the graph yet."""
        if plan.space.slug == plan.answering.slug:
            self._merge_near(self._graph, plan.space, plan.ontology, concept_ids)

    def _catch_up(self, run: JobRun, plan: ConceptPlan) -> None:
        """The last batch before a worker died may not have been merged."""
        if last := place(run.cursor, plan):
            self._merged(plan, concepts_before(self._graph, plan, last, self._batch_size))
