"""A kind of thing that is embedded: what a pass has to know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol

from kg_api.embed.port import RejectedTexts
from kg_api.graph.database import Transaction
from kg_api.jobs.batches import ItemT
from kg_api.jobs.flight import BatchT
from kg_api.provider.service import RejectedText
from kg_api.spaces.cached import Passage


class LostItem(RejectedText):
    """What stands for an item cannot be had any more, whatever its model takes."""


class RejectedItems(RejectedText):
    """Some items of a batch are rejected; the others were accepted."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """`reasons`: by the item's identity."""
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons


def blame_items(error: RejectedTexts, passages: Iterable[tuple[str, Passage]]) -> RejectedText:
    """Turn rejected texts into the rejection of the items that they stand for.

    Args:
        error: of the model.
        passages: what was embedded, each with the identity of an item.
    """
    reasons = {
        identity: error.reasons[each]
        for identity, each in passages
        if isinstance(each, str) and each in error.reasons
    }
    return RejectedItems(reasons) if reasons else RejectedText(str(error))


class TargetModel(Protocol):
    """What a pass has to know of a target's model."""

    @property
    def at_once(self) -> int:
        """How many batches are embedded beside each other."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether what was embedded and not written is not embedded again."""
        ...

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not answer as ever.
        """
        ...

    def check(self) -> None:
        """See that it answers as it always did, so that an item is at fault that it does not take.

        Raises:
            As `open`.
        """
        ...


class EmbeddingTarget(ABC, Generic[ItemT, BatchT]):
    """What is due of one kind, in one space; `EmbeddingPass` does the rest."""

    noun: str
    """What one of them is called, as in `source`."""
    name: str
    """What a cursor calls all of them, without a colon: another text for each way to embed them."""
    is_written_together = False
    """Whether batches that are there at once are written by one transaction; if so, without `committed`."""

    @property
    @abstractmethod
    def model(self) -> TargetModel:
        """What embeds them."""

    @abstractmethod
    def due(self, after: str, limit: int) -> Sequence[ItemT]:
        """The next that are due behind a place, in their order; "" is before all."""

    @abstractmethod
    def count(self) -> int:
        """How many are due."""

    @abstractmethod
    def embed(self, items: Sequence[ItemT]) -> BatchT:
        """Embed some; several threads may do so at once.

        Raises:
            RejectedItems: the model does not take these.
            RejectedText: the model does not take one of them, and which is not known.
            EmbeddingUnavailable, ConfigurationError: it does not answer, or is another one.
        """

    @abstractmethod
    def write(self, tx: Transaction, batch: BatchT) -> int:
        """Write a batch where it still fits, safe to repeat; how many are done. The others stay due."""

    @abstractmethod
    def reject(self, tx: Transaction, item: ItemT, reason: str) -> None:
        """Set one aside that the model does not take, unless it has changed; safe to repeat."""

    def characters(self, items: Sequence[ItemT]) -> int:  # noqa: ARG002 - for those that count
        """How long their texts are together; 0 where all are short."""
        return 0

    def committed(self) -> None:
        """Do what follows a batch that was just written."""

    def resume(self, place: str, limit: int) -> None:
        """Make good for what a batch of at most so many, up to a place, may not have been followed by."""
