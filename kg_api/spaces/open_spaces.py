"""What registries of spaces share: each is opened once a process, and anew when its model is another."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import Conflict
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import Space, ensure_space, find_space, remember_probe
from kg_api.models.embedding.spaces import SpaceIdentity
from kg_api.spaces.probe import check_probe

MAX_SPACES = 32
"""Each has an index of its own, and a local one its model in memory."""


class Opened(Protocol):
    space: Space

    def close(self) -> None: ...


OpenT = TypeVar("OpenT", bound=Opened)


class OpenSpaces(ABC, Generic[OpenT]):
    """Keeps spaces that were opened. Thread-safe."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._spaces: dict[str, OpenT] = {}
        self._lock = threading.Lock()

    def of(self, space: Space) -> OpenT:
        """An open space for one that was read; both of its slots have the same model."""
        kept = self._spaces.get(space.slug)
        if kept is not None and kept.space.fingerprint != space.fingerprint:
            self._forget(space.slug)  # it was dropped, and another made by its name
            kept = None
        return kept or self._keep(self._find(space.at("")))

    def close(self) -> None:
        for space in self._spaces.values():
            space.close()

    @abstractmethod
    def _find(self, space: Space) -> OpenT:
        """A space that is registered, with its model yet to be opened."""

    def _forget(self, slug: str) -> None:
        with self._lock:
            gone = self._spaces.pop(slug, None)
        if gone is not None:
            gone.close()

    def _keep(self, opened: OpenT) -> OpenT:
        with self._lock:
            return self._spaces.setdefault(opened.space.slug, opened)

    def _add(self, opened: OpenT) -> OpenT:
        """Keep one that was just registered, unless it is kept already: one of another model was dropped."""
        kept = self._spaces.get(opened.space.slug)
        if kept is not None and kept.space.fingerprint != opened.space.fingerprint:
            self._forget(opened.space.slug)
        kept = self._keep(opened)
        if kept is not opened:
            opened.close()
        return kept


def require_room(known: Mapping[str, Space], slug: str) -> None:
    """Refuse a further space where there are too many, or one of that name is going.

    Raises:
        Conflict: saying so.
    """
    if slug in known and known[slug].dropping:
        raise Conflict(f"the space {slug!r} is being removed; wait until it has gone")
    if len(known) >= MAX_SPACES and slug not in known:
        raise Conflict(f"there are {len(known)} spaces already; the maximum is {MAX_SPACES}")


def register_probed(graph: Graph, identity: SpaceIdentity, slug: str, probe: NDArray[np.float32]) -> Space:
    """Register a further space with what its model has answered to the probe, or find that it is there.

    Raises:
        Conflict: there is one of that name for another model.
        OtherModel: it answers differently than when the space was made.
    """
    space = ensure_space(graph, identity, slug)
    remember_probe(graph, space, probe)
    space = find_space(graph, slug)
    check_probe(space, probe)
    return space
