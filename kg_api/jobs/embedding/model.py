"""The model of a space, as targets use it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.known import IN_PROCESS
from kg_api.errors import EmbeddingFailed, InvalidInput
from kg_api.graph.spaces.chunks import check_vector
from kg_api.graph.spaces.registry import Space
from kg_api.provider.service import RejectedText
from kg_api.spaces.cached import CachedPassages, Passage
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.registry import SpaceRegistry


class SpaceModel:
    """Embeds for one space; opened, and seen to be the same as ever, when it is first needed."""

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
        self.fresh = fresh
        self.at_once = 1 if space.identity.provider in IN_PROCESS else requests_at_once
        self.remembers = passages.keeps and not fresh
        """Whether what was embedded and not written is not embedded again."""
        self._alone = threading.Lock() if self.at_once == 1 else nullcontext()
        self._spaces = spaces
        self._space = space
        self._passages = passages

    @cached_property
    def opened(self) -> OpenSpace:
        """The space.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: its model does not answer as ever.
        """
        opened = self._spaces.of(self._space)
        opened.assure()
        return opened

    def open(self) -> None:
        """Open it now, before several threads need it.

        Raises:
            As `opened`.
        """
        _ = self.opened

    def embed(self, passages: Sequence[Passage], *, fresh: bool = False) -> NDArray[np.float32]:
        """Embed passages, not from the cache where they shall be `fresh`; shape (len(passages), dimensions).

        Raises:
            RejectedText: one of them is.
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
        """
        opened = self.opened
        try:
            with self._alone:
                vectors = self._passages.embed(opened, passages, fresh=fresh or self.fresh)
            for vector in vectors:
                check_vector(vector, self._space.dimensions)
        except (EmbeddingFailed, InvalidInput) as error:
            raise RejectedText(str(error)) from error
        return vectors

    def check(self) -> None:
        """See that the model answers as it always did, so that a text is at fault that it does not take.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it does not.
        """
        self.opened.check()
