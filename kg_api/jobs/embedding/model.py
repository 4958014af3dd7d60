"""The model of a space, as targets use it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.known import IN_PROCESS
from kg_api.embed.port import RejectedTexts
from kg_api.errors import EmbeddingFailed, InvalidInput
from kg_api.graph.spaces.chunks import check_vector
from kg_api.graph.spaces.registry import Space
from kg_api.provider.service import RejectedText
from kg_api.spaces.cached import CachedPassages, Passage
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.registry import SpaceRegistry


class Assured(Protocol):
    """A space whose model can be seen to be as it was."""

    def assure(self) -> None:
        """See it, unless it was just seen."""
        ...

    def check(self) -> None: ...


OpenT = TypeVar("OpenT", bound=Assured)


class OpenedModel(ABC, Generic[OpenT]):
    """The model of a space, opened, and seen to be the same as ever, when it is first needed."""

    def __init__(self, space: Space, requests_at_once: int) -> None:
        self.at_once = 1 if space.identity.provider in IN_PROCESS else requests_at_once
        self._alone = threading.Lock() if self.at_once == 1 else nullcontext()
        self._space = space

    @abstractmethod
    def _find(self) -> OpenT:
        """The space in its registry."""

    @cached_property
    def opened(self) -> OpenT:
        """The space.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: its model does not answer as ever.
        """
        opened = self._find()
        opened.assure()
        return opened

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            As `opened`.
        """
        _ = self.opened

    def check(self) -> None:
        """See that the model answers as it always did, so that an item is at fault that it does not take.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not.
        """
        self.opened.check()

    def _checked(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Raise EmbeddingFailed where one cannot be written."""
        for vector in vectors:
            check_vector(vector, self._space.dimensions)
        return vectors


class SpaceModel(OpenedModel[OpenSpace]):
    """Embeds texts for one space."""

    def __init__(
        self,
        spaces: SpaceRegistry,
        space: Space,
        passages: CachedPassages,
        *,
        fresh: bool,
        requests_at_once: int = 1,
    ) -> None:
        """Nothing is opened yet.

        Args:
            spaces: where its model is opened.
            space: what it is for.
            passages: what was embedded before.
            fresh: what is there already is made anew, and the cache is not asked.
            requests_at_once: so many batches are embedded beside each other, where that is done elsewhere.
        """
        super().__init__(space, requests_at_once)
        self.fresh = fresh
        self.remembers = passages.keeps and not fresh
        """Whether what was embedded and not written is not embedded again."""
        self._spaces = spaces
        self._passages = passages

    def embed(self, passages: Sequence[Passage], *, fresh: bool = False) -> NDArray[np.float32]:
        """Embed passages, not from the cache where they shall be `fresh`; shape (len(passages), dimensions).

        Raises:
            RejectedTexts: these are.
            RejectedText: one of them is, and which is not known.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
        """
        opened = self.opened
        try:
            with self._alone:
                return self._checked(self._passages.embed(opened, passages, fresh=fresh or self.fresh))
        except RejectedTexts:
            raise
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error

    def _find(self) -> OpenSpace:
        return self._spaces.of(self._space)
