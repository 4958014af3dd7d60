"""One round over the concepts of an ontology that are due, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import structlog

from kg_api.embed.port import Embedder
from kg_api.errors import EmbeddingFailed, InvalidInput
from kg_api.graph.chunks import check_vector
from kg_api.graph.concept_vectors import (
    ConceptPlan,
    ConceptsWanted,
    ConceptText,
    due_concepts,
    set_concept_aside,
    write_concept_vectors,
)
from kg_api.graph.database import Graph, Transaction
from kg_api.jobs.embedding_walk import LONGEST_REASON, LOOKED_SECONDS, MOST_REFUSED
from kg_api.jobs.embedding_work import Refused
from kg_api.jobs.run import JobRun
from kg_api.spaces.cached import CachedPassages
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.plans import Standing, read_standings

log = structlog.get_logger()

Embedded = Callable[[ConceptPlan, Sequence[str]], None]
"""Told the ids of a batch that is written."""


class ConceptWalk:
    """What is due by the plans of a standing, in the order of the ids."""

    def __init__(
        self, graph: Graph, batch_size: int, run: JobRun, standing: Standing, passages: CachedPassages
    ) -> None:
        self.written = 0
        """Concepts that were done or set aside in this round."""
        self._graph = graph
        self._batch_size = batch_size
        self._run = run
        self._standing = standing
        self._passages = passages
        self._looked_at = time.monotonic()
        self._taken = False
        self._refused: list[tuple[ConceptText, Refused]] = []

    def is_current(self) -> bool:
        """Whether the ontology still stands as it did when the round began."""
        if time.monotonic() - self._looked_at > LOOKED_SECONDS:
            name = self._standing.ontology
            now = read_standings(self._graph, name).get(name)
            if now is None or now.identity != self._standing.identity:
                return False
            self._looked_at = time.monotonic()
        return True

    def through(
        self, wanted: ConceptsWanted, open_space: Callable[[], OpenSpace], embedded: Embedded
    ) -> None:
        """Embed what is due by a plan; the model is opened when there is something.

        Raises:
            Refused: every text was.
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not answer as it should.
        """
        after, opened, size = place(self._run.cursor, wanted.plan), None, self._batch_size
        while self.is_current() and (due := due_concepts(self._graph, wanted, after=after, limit=size)):
            self._run.checkpoint()
            opened = opened or _checked(open_space())
            self._embed(wanted, opened, due, embedded)
            after = due[-1].concept_id
            if len(due) < size:
                break
        if opened is not None and self._refused:
            opened.check()
        self._set_aside(wanted.plan)

    def _embed(
        self, wanted: ConceptsWanted, opened: OpenSpace, due: Sequence[ConceptText], embedded: Embedded
    ) -> None:
        """Embed a batch; one with a text that is refused is halved until that one stands alone."""
        try:
            done = self._written(wanted, opened, due)
        except Refused as error:
            if half := len(due) // 2:
                self._embed(wanted, opened, due[:half], embedded)
                self._embed(wanted, opened, due[half:], embedded)
            else:
                self._remember(due[0], error)
            return
        self._taken = True
        self.written += len(done)
        self._set_aside(wanted.plan)
        embedded(wanted.plan, done)

    def _written(self, wanted: ConceptsWanted, opened: OpenSpace, due: Sequence[ConceptText]) -> list[str]:
        """Embed and write; ids of those that were still what was embedded."""
        plan, fresh = wanted.plan, wanted.forced_at is not None
        try:
            texts = [_fitting(opened.embedder(), each.text) for each in due]
            vectors = self._passages.embed(opened, texts, fresh=fresh)
            for vector in vectors:
                check_vector(vector, plan.space.dimensions)
        except (EmbeddingFailed, InvalidInput) as error:
            raise Refused(str(error)) from error
        known = {each.concept_id: vector for each, vector in zip(due, vectors, strict=True)}
        done = list[str]()

        def write(tx: Transaction) -> None:
            done[:] = write_concept_vectors(tx, plan, due, known)

        self._run.commit(write, after=_cursor(plan, due[-1]), done=len(due))
        return done

    def _remember(self, concept: ConceptText, error: Refused) -> None:
        self._refused.append((concept, error))
        if not self._taken and len(self._refused) >= MOST_REFUSED:
            raise error

    def _set_aside(self, plan: ConceptPlan) -> None:
        """Mark what was refused, now that it is clear that others are taken, or that there were few."""
        for concept, error in self._refused:
            self._mark(plan, concept, str(error)[:LONGEST_REASON])
        self._refused.clear()

    def _mark(self, plan: ConceptPlan, concept: ConceptText, reason: str) -> None:
        def write(tx: Transaction) -> None:
            set_concept_aside(tx, plan, concept, reason)

        self._run.commit(write, after=_cursor(plan, concept), done=1, set_aside=1)
        self.written += 1
        log.warning("concept set aside", concept_id=concept.concept_id, reason=reason)


def place(cursor: str, plan: ConceptPlan) -> str:
    """Where a resumed job goes on; from the beginning in a space that it was not at."""
    mark, _, concept = cursor.partition(":")
    return concept if mark == _mark(plan) else ""


def _cursor(plan: ConceptPlan, concept: ConceptText) -> str:
    return f"{_mark(plan)}:{concept.concept_id}"


def _mark(plan: ConceptPlan) -> str:
    return f"{plan.space.slug}={plan.mark}"


def _checked(opened: OpenSpace) -> OpenSpace:
    opened.assure()
    return opened


def _fitting(embedder: Embedder, text: str) -> str:
    """As much of a text as the model takes: a label stands at its beginning."""
    spans = embedder.spans(text)
    return text[: spans[0][1]] if spans else text
