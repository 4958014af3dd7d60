"""The job that embeds an ontology's sources: fetch due -> chunk -> embed -> write, batch by batch."""

from __future__ import annotations

from typing import Final

from kg_api.graph.database import Graph
from kg_api.graph.jobs.records import FIRST, SOURCE_EMBEDDING, STALE
from kg_api.graph.spaces.chunks import EmbeddedBatch
from kg_api.graph.spaces.due import SourceText
from kg_api.jobs.embedding.job import TextEmbeddingJob
from kg_api.jobs.embedding.passes import EmbeddingPass, left
from kg_api.jobs.embedding.source_target import SourceTarget
from kg_api.jobs.run import JobRun
from kg_api.planning.contexts import Contexts
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.plans import EmbeddingState, Plan
from kg_api.spaces.registry import SpaceRegistry

KIND = SOURCE_EMBEDDING
DIVIDED_FROM = 1000
"""A job of so many sources is divided among the workers there are: half a minute of a local model's work."""
PARTS: Final = (":2", "2:4", "4:6", "6:8", "8:a", "a:c", "c:e", "e:")
"""Ranges of document ids, which are hexadecimal digests and so evenly spread."""
DIVIDED = "divided"
"""The cursor of a job whose parts were made: what they leave, in whatever way, it does itself."""
PARTS_SECONDS = 5.0
"""How often a divided job looks whether its parts have ended."""


class SourceEmbedding(TextEmbeddingJob[SourceText, EmbeddedBatch]):
    """Handles jobs of kind `source_embedding`.

    Memory is bounded by the batches of sources that are embedded at once, or by one document each where
    chunks cover several sources. A job of many sources is divided by document into parts, which several
    workers take. Texts without a vector go first; what is only stale is worth less, so new text of other
    ontologies goes before it.
    """

    kind = KIND

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        contexts: Contexts,
        passages: CachedPassages,
        batch_size: int,
        *,
        requests_at_once: int = 1,
    ) -> None:
        super().__init__(graph, spaces, passages, batch_size, requests_at_once=requests_at_once)
        self._contexts = contexts

    def targets(
        self, run: JobRun, embedding_state: EmbeddingState, *, divided: bool = False, new_only: bool = False
    ) -> list[SourceTarget]:
        """The sources by each plan; while parts make the target, by what answers meanwhile."""
        plans = embedding_state.plans[:-1] if divided else embedding_state.plans
        kept = [embedding_state.target] if run.job.part else plans
        return [self._target(run, embedding_state, plan, new_only=new_only) for plan in kept]

    def _target(
        self, run: JobRun, embedding_state: EmbeddingState, plan: Plan, *, new_only: bool
    ) -> SourceTarget:
        first, _, end = run.job.part.partition(":")
        wanted = embedding_state.wanted(
            plan, selection=run.job.selection, forced_at=run.job.forced_at, within=(first, end)
        )
        model = self._model(run, plan.space)
        return SourceTarget(self._graph, plan, wanted, model, self._contexts, new_only=new_only)

    def _go_over(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        resumed = run.cursor not in {"", DIVIDED}
        divided = self._divide(run, embedding_state)
        over = self._pass(run, embedding_state)
        if not self._gone_over(over, run, embedding_state, divided=divided):
            return True
        if divided:
            run.pause(PARTS_SECONDS)
        if not over.is_current():
            return True
        crossing = any(
            plan.config.crosses_sources for plan in embedding_state.plans
        )  # a neighbour may be due again
        if (resumed or over.passed_over or crossing) and left(self.targets(run, embedding_state)):
            return over.written > 0 or resumed
        if not run.job.part:
            self.complete(embedding_state)
        return False

    def _gone_over(
        self,
        over: EmbeddingPass[SourceText, EmbeddedBatch],
        run: JobRun,
        embedding_state: EmbeddingState,
        *,
        divided: bool,
    ) -> bool:
        """Go over what is new, then over the rest; False when more came in between, which goes first."""
        if run.job.rank == FIRST and run.job.selection == "due":
            over.through_all(self.targets(run, embedding_state, divided=divided, new_only=True))
            if not (over.is_current() and left(self.targets(run, embedding_state, divided=divided))):
                return True
            if not run.lower(STALE):
                return False
        over.through_all(self.targets(run, embedding_state, divided=divided))
        return True

    def _divide(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        """Whether others are to do parts of it; made once a round, when there is enough to share.

        Where several requests are under way at once, the provider is waited for, not a worker's cores.
        """
        if run.job.part:
            return False
        if unfinished := bool(run.unfinished_parts()):
            return unfinished
        if self._model(run, embedding_state.target.space).at_once > 1:
            return False
        if run.cursor or (run.job.total - run.job.done < DIVIDED_FROM and embedding_state.serving is None):
            return False
        due = [target.count() for target in self.targets(run, embedding_state)]
        run.expect(sum(due))
        if due[-1] >= DIVIDED_FROM:
            run.divide(PARTS, after=DIVIDED)
        return due[-1] >= DIVIDED_FROM
