"""Jobs that embed what is due of a kind in an ontology."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic

from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.batches import ItemT, Steady, in_rounds
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.passes import EmbeddingPass, left
from kg_api.jobs.embedding.target import EmbeddingTarget
from kg_api.jobs.flight import BatchT
from kg_api.jobs.run import JobRun
from kg_api.spaces.activation import activate_complete
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import EmbeddingState, read_embedding_states
from kg_api.spaces.registry import SpaceRegistry


class EmbeddingJob(ABC, Generic[ItemT, BatchT]):
    """Handles jobs of one kind. Memory is bounded by one batch, or by those that are in flight at once."""

    kind: ClassVar[str]

    def __init__(self, graph: Graph, batch_size: int) -> None:
        self._graph = graph
        self._batch_size = batch_size

    @abstractmethod
    def targets(
        self, run: JobRun, embedding_state: EmbeddingState
    ) -> Sequence[EmbeddingTarget[ItemT, BatchT]]:
        """What is to be embedded, where it answers now and where it shall."""

    def run(self, run: JobRun) -> None:
        """Embed what is due, in rounds, until nothing is left.

        What came in or changed meanwhile, or stood before the cursor of a resumed job, is embedded in another
        round, as long as rounds get on.
        """
        in_rounds(run, lambda: self._round(run))

    def _round(self, run: JobRun) -> bool:
        """Go over all that is due; whether to go round again."""
        embedding_state = read_embedding_states(self._graph, run.job.ontology).get(run.job.ontology or "")
        if embedding_state is None:
            return False
        try:
            return self._go_over(run, embedding_state)
        except FAULTS:
            self.complete(embedding_state)  # what is built may be, though the model that answers is broken
            raise

    def _go_over(self, run: JobRun, embedding_state: EmbeddingState) -> bool:
        """As `_round`, as the ontology stands."""
        resumed = run.cursor != ""
        targets = self.targets(run, embedding_state)
        run.expect(sum(target.count() for target in targets))
        over = self._pass(run, embedding_state)
        over.through_all(targets)
        if not over.is_current():
            return True
        if left(targets):
            return over.written > 0 or resumed
        self.complete(embedding_state)
        return False

    @abstractmethod
    def complete(self, embedding_state: EmbeddingState) -> None:
        """Do what follows when nothing is due any more."""

    def _pass(self, run: JobRun, embedding_state: EmbeddingState) -> EmbeddingPass[ItemT, BatchT]:
        """A pass as long as the ontology stands so."""

        def holds() -> bool:
            now = read_embedding_states(self._graph, embedding_state.ontology).get(embedding_state.ontology)
            return now is not None and now.identity == embedding_state.identity

        return EmbeddingPass(run, self._batch_size, Steady(holds))


class TextEmbeddingJob(EmbeddingJob[ItemT, BatchT]):
    """One whose items are embedded by texts that stand for them."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        passages: CachedPassages,
        batch_size: int,
        *,
        requests_at_once: int = 1,
    ) -> None:
        """`requests_at_once`: of models elsewhere."""
        super().__init__(graph, batch_size)
        self._spaces = spaces
        self._passages = passages
        self._requests_at_once = requests_at_once

    def complete(self, embedding_state: EmbeddingState) -> None:
        """Let a target that is complete answer."""
        activate_complete(self._graph, embedding_state)

    def _model(self, run: JobRun, space: Space) -> SpaceModel:
        fresh = run.job.forced_at is not None
        return SpaceModel(
            self._spaces, space, self._passages, fresh=fresh, requests_at_once=self._requests_at_once
        )
