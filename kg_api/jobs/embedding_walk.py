"""One round over the sources of an ontology that are due, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import structlog

from kg_api.graph.chunks import set_aside, write_batch
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.due import SourceText, due_sources
from kg_api.graph.job_records import FIRST
from kg_api.jobs.embedding_work import Refused, Work
from kg_api.jobs.run import JobRun
from kg_api.spaces.plans import Plan, Standing, read_standings

log = structlog.get_logger()

BEGINNING = ("", -1)
LOOKED_SECONDS = 1.0
"""How long it is believed that an ontology stands as it did."""
MOST_REFUSED = 20
"""So many texts refused before any is taken are no matter of single texts."""
LONGEST_REASON = 300
"""Characters."""


class Walk:
    """What is due by the plans of a standing, in reading order."""

    def __init__(self, graph: Graph, batch_size: int, run: JobRun, standing: Standing) -> None:
        self.written = 0
        """Sources that were done or set aside in this round."""
        self.passed_over = 0
        """Sources that changed while they were embedded."""
        self.new_only = run.job.rank == FIRST and run.job.selection == "due"
        """Whether only what has no vector at all is walked over: that goes first, and is worth more."""
        self._graph = graph
        self._batch_size = batch_size
        self._run = run
        self._standing = standing
        self._looked_at = time.monotonic()
        self._taken = False
        self._refused: list[tuple[SourceText, Refused]] = []

    def is_current(self) -> bool:
        """Whether the ontology still stands as it did when the round began."""
        if time.monotonic() - self._looked_at > LOOKED_SECONDS:
            name = self._standing.ontology
            now = read_standings(self._graph, name).get(name)
            if now is None or now.identity != self._standing.identity:
                return False
            self._looked_at = time.monotonic()
        return True

    def due(self, plan: Plan, after: tuple[str, int], limit: int) -> list[SourceText]:
        """The next sources that are due by a plan."""
        job = self._run.job
        wanted = self._standing.wanted(
            plan,
            selection="missing" if self.new_only else job.selection,
            forced_at=job.forced_at,
            within=_range(job.part),
        )
        return due_sources(self._graph, wanted, after=after, limit=limit)

    def left(self, plans: Sequence[Plan]) -> bool:
        """Whether anything is due by some plans."""
        return any(self.due(plan, BEGINNING, 1) for plan in plans)

    def through(self, plan: Plan, open_work: Callable[[], Work]) -> None:
        """Embed what is due by a plan; the model is opened when there is something.

        Raises:
            Refused: every text was.
        """
        place, work, size = _place(self._run.cursor, self._pass(plan)), None, self._batch_size
        while self.is_current() and (due := self.due(plan, place, size)):
            self._run.checkpoint()
            work = work or open_work()
            self._embed(work, due)
            place = (due[-1].document_id, due[-1].paragraph)
            if len(due) < size:
                break
        if work is not None and self._refused:
            work.check()
        self._set_aside(plan)

    def _embed(self, work: Work, due: Sequence[SourceText]) -> None:
        """Embed a batch; one with a text that is refused is halved until that one stands alone."""
        try:
            batch = work.embedded(due)
        except Refused as error:
            half = len(due) // 2
            if half:
                self._embed(work, due[:half])
                self._embed(work, due[half:])
            else:
                self._remember(due[0], error)
            return
        done = list[int]()

        def write(tx: Transaction) -> None:
            done[:] = [write_batch(tx, batch, work.plan.space, work.plan.mark)]

        self._run.commit(write, after=_cursor(self._pass(work.plan), due[-1]), done=len(due))
        self._taken = True
        self.written += sum(done)
        self.passed_over += len(due) - sum(done)
        self._set_aside(work.plan)

    def _remember(self, source: SourceText, error: Refused) -> None:
        self._refused.append((source, error))
        if not self._taken and len(self._refused) >= MOST_REFUSED:
            raise error

    def _pass(self, plan: Plan) -> str:
        """Names what is walked over, in a cursor."""
        return f"{'new ' if self.new_only else ''}{plan.mark.key}={plan.mark.value}"

    def _set_aside(self, plan: Plan) -> None:
        """Mark what was refused, now that it is clear that others are taken, or that there were few."""
        for source, error in self._refused:
            self._mark(plan, source, str(error)[:LONGEST_REASON])
        self._refused.clear()

    def _mark(self, plan: Plan, source: SourceText, reason: str) -> None:
        def write(tx: Transaction) -> None:
            set_aside(tx, source, plan.space, plan.mark, reason)

        self._run.commit(write, after=_cursor(self._pass(plan), source), done=1, set_aside=1)
        self.written += 1
        log.warning(
            "source set aside", source_id=source.source_id, document_id=source.document_id, reason=reason
        )


def _range(part: str) -> tuple[str, str]:
    first, _, end = part.partition(":")
    return first, end


def _cursor(walked: str, source: SourceText) -> str:
    return f"{walked}:{source.document_id}:{source.paragraph}"


def _place(cursor: str, walked: str) -> tuple[str, int]:
    """Where a resumed job goes on; from the beginning of what it was not at."""
    before, _, place = cursor.partition(":")
    document, _, paragraph = place.partition(":")
    return (document, int(paragraph)) if before == walked and document else BEGINNING
