"""One pass over what is due of a kind: embedded, written batch by batch in order, single texts rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic

import structlog

from kg_api.jobs.batches import ItemT, cursor_at, place_of, read_on
from kg_api.jobs.embedding.target import EmbeddingTarget, LostItem, RejectedItems
from kg_api.jobs.flight import BatchT, Flight
from kg_api.jobs.run import JobRun
from kg_api.provider.service import RejectedText
from kg_api.spaces.model_watch import FAULTS, Fault

log = structlog.get_logger()

MAX_REJECTED = 20
"""So many texts rejected before any is taken are no matter of single texts."""
MAX_REASON = 300
"""Characters."""


class EmbeddingPass(Generic[ItemT, BatchT]):
    """A job's pass over one or several targets of a kind: it keeps the cursor, and finds what is rejected."""

    def __init__(self, run: JobRun, batch_size: int, is_current: Callable[[], bool]) -> None:
        """`is_current`: whether the pass is still about what it began with; else it ends early."""
        self.is_current = is_current
        self.written = 0
        """Items that were done or set aside."""
        self.passed_over = 0
        """Items that changed while they were embedded."""
        self._run = run
        self._batch_size = batch_size
        self._accepted = False
        self._rejected: list[tuple[ItemT, RejectedText]] = []

    def through(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Embed what is due of a target.

        Raises:
            RejectedText: every text was.
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not answer as it should.
            As `JobRun.checkpoint`.
        """
        self._accepted, self._rejected = False, []  # what one model does not take says nothing of another
        place = place_of(self._run.cursor, target.name)
        if place:
            target.resume(place, self._batch_size)
        with self._flight(target) as flight:
            for landed in flight.over(self._read(target, place), self.is_current):
                if len(landed) > 1:  # none of them failed
                    self._write(target, [(due, embedded()) for due, embedded in landed])
                else:
                    self._take(target, *landed[0])
        if self._rejected:
            target.model.check()
        self._reject(target)

    def through_all(self, targets: Iterable[EmbeddingTarget[ItemT, BatchT]]) -> None:
        """Embed what is due of several targets.

        A model that cannot be used holds up no other: what is built beside it is the way away from it.

        Raises:
            As `through`: what came first, when all have had their turn.
        """
        faults = list[Fault]()
        for target in targets:
            try:
                self.through(target)
            except FAULTS as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _flight(self, target: EmbeddingTarget[ItemT, BatchT]) -> Flight[ItemT, BatchT]:
        """As many batches as are embedded at once may wait to be written, so that no thread stands still.

        Where vectors are remembered as they are made, the end of a worker costs the work on those that are
        being embedded and no more: one batch of a model in this process. Where they are not, the next of that
        begins when the last is written.
        """
        at_once = target.model.at_once
        room = 1 if at_once == 1 and not target.model.remembers else 2 * at_once
        return Flight(
            self._run,
            target.embed,
            at_once=at_once,
            room=room,
            characters=target.characters,
            together=target.is_written_together,
        )

    def _read(self, target: EmbeddingTarget[ItemT, BatchT], place: str) -> Iterator[Sequence[ItemT]]:
        for due in read_on(place, target.due, self._batch_size):
            target.model.open()  # before several threads need it
            yield due

    def _take(
        self,
        target: EmbeddingTarget[ItemT, BatchT],
        due: Sequence[ItemT],
        embedded: Callable[[], BatchT],
    ) -> None:
        """Write a batch without its rejected items; if those are not known, halve it until each is alone."""
        try:
            batch = embedded()
        except RejectedItems as error:
            if rest := [each for each in due if each.identity not in error.reasons]:
                self._take(target, rest, lambda: target.embed(rest))
            for item in due:  # after the others: what is rejected first says nothing of the model
                if item.identity in error.reasons:
                    self._set_aside(target, item, RejectedText(error.reasons[item.identity]))
        except RejectedText as error:
            if len(due) == 1:
                self._set_aside(target, due[0], error)
            for half in halves(due):
                self._take(target, half, lambda half=half: target.embed(half))
        else:
            self._write(target, [(due, batch)])

    def _write(
        self, target: EmbeddingTarget[ItemT, BatchT], batches: Sequence[tuple[Sequence[ItemT], BatchT]]
    ) -> None:
        """Write batches in their order, by one transaction."""
        after = cursor_at(target.name, batches[-1][0][-1])
        items = sum(len(due) for due, _ in batches)
        done = self._run.commit(
            lambda tx: sum(target.write(tx, batch) for _, batch in batches), after=after, done=items
        )
        self._accepted = True
        self.written += done
        self.passed_over += items - done
        target.committed()  # first: what is set aside may stand before this batch, and the cursor with it
        self._reject(target)

    def _set_aside(self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText) -> None:
        if isinstance(error, LostItem):  # says nothing of the model
            self._reject_one(target, item, error)
        else:
            self._remember(item, error)

    def _remember(self, item: ItemT, error: RejectedText) -> None:
        self._rejected.append((item, error))
        if not self._accepted and len(self._rejected) >= MAX_REJECTED:
            raise error

    def _reject(self, target: EmbeddingTarget[ItemT, BatchT]) -> None:
        """Set aside what was rejected, now that it is clear that others are taken, or that there were few."""
        for item, error in self._rejected:
            self._reject_one(target, item, error)
        self._rejected.clear()

    def _reject_one(self, target: EmbeddingTarget[ItemT, BatchT], item: ItemT, error: RejectedText) -> None:
        reason = str(error)[:MAX_REASON]
        after = cursor_at(target.name, item)
        self._run.commit(lambda tx: target.reject(tx, item, reason), after=after, done=1, set_aside=1)
        self.written += 1
        log.warning("set aside", **{f"{target.noun}_id": item.identity}, place=item.place, reason=reason)


def halves(due: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """Both halves of several; none of one."""
    if half := len(due) // 2:
        yield from (due[:half], due[half:])


def left(targets: Iterable[EmbeddingTarget[Any, Any]]) -> bool:
    """Whether anything is due of some targets, wherever it stands."""
    return any(target.due("", 1) for target in targets)
