"""All spaces of texts, each with its model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import cast

from kg_api.embed.port import Embedder
from kg_api.embed.probed import embed_probed
from kg_api.errors import Conflict
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import (
    Space,
    all_spaces,
    ensure_space,
    find_space,
    remember_probe,
    text_spaces,
)
from kg_api.models.embedding.spaces import FIRST_SLUG, ModelChoice, NewSpace
from kg_api.models.vocabulary import Provider
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.probe import PROBE_TEXT, check_probe

MAX_SPACES = 32
"""Each has an index of its own, and a local one its model in memory."""
OpenModel = Callable[[ModelChoice | None], Embedder]
"""Opens a model; None: the one that the settings name."""


class SpaceRegistry:
    """Gives the spaces, opening each when it is asked for. Thread-safe; one a process."""

    def __init__(self, graph: Graph, open_model: OpenModel) -> None:
        self._graph = graph
        self._open_model = open_model
        self._spaces: dict[str, OpenSpace] = {}
        self._lock = threading.Lock()

    def open_first(self, embedder: Embedder) -> OpenSpace:
        """Register the first space for a model, or check that it was registered for it.

        Raises:
            ConfigurationError: the stored vectors are of another model.
        """
        try:
            space = ensure_space(self._graph, embedder.identity)
        except BaseException:
            embedder.close()
            raise
        return self._keep(OpenSpace(self._graph, space, lambda: embedder))

    def get(self, slug: str = FIRST_SLUG) -> OpenSpace:
        """A space by its name.

        Raises:
            NotFound: there is none.
        """
        return self.of(find_space(self._graph, slug))

    def of(self, space: Space) -> OpenSpace:
        """An open space for one that was read; both of its slots have the same model."""
        kept = self._spaces.get(space.slug)
        if kept is not None and kept.space.fingerprint != space.fingerprint:
            self._forget(space.slug)  # it was dropped, and another made by its name
            kept = None
        return kept or self._keep(self._find(space.at("")))

    def all(self) -> list[OpenSpace]:
        """Every space of texts, the oldest first."""
        return [self.of(space) for space in text_spaces(self._graph).values()]

    def add(self, new: NewSpace) -> OpenSpace:
        """Register a further space: its model is opened and asked, its index made.

        Raises:
            Conflict: there is one of that name for another model.
            ConfigurationError: the model cannot be used; the message says what is missing.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        require_room(all_spaces(self._graph), new.slug)
        choice = ModelChoice(cast("Provider", new.provider), new.model, new.dimensions)
        embedder = self._open_model(choice)
        try:
            probe = embed_probed(embedder, [], PROBE_TEXT, query=True)[
                -1
            ]  # before anything is registered: it would stay
            space = ensure_space(self._graph, embedder.identity, new.slug)
            remember_probe(self._graph, space, probe)
            space = find_space(self._graph, new.slug)
            check_probe(space, probe)
            opened = OpenSpace(self._graph, space, lambda: embedder, checked=True)
        except BaseException:
            embedder.close()
            raise
        kept = self._keep(opened)
        if kept is opened:
            kept.calibrate_soon()
        else:
            opened.close()
        return kept

    def close(self) -> None:
        """Close all models."""
        for space in self._spaces.values():
            space.close()

    def _forget(self, slug: str) -> None:
        with self._lock:
            gone = self._spaces.pop(slug, None)
        if gone is not None:
            gone.close()

    def _find(self, space: Space) -> OpenSpace:
        choice = None if space.slug == FIRST_SLUG else choice_of(space)
        return OpenSpace(self._graph, space, lambda: self._open_model(choice))

    def _keep(self, opened: OpenSpace) -> OpenSpace:
        with self._lock:
            return self._spaces.setdefault(opened.space.slug, opened)


def require_room(known: Mapping[str, Space], slug: str) -> None:
    """Refuse a further space where there are too many, or one of that name is going.

    Raises:
        Conflict: saying so.
    """
    if slug in known and known[slug].dropping:
        raise Conflict(f"the space {slug!r} is being removed; wait until it has gone")
    if len(known) >= MAX_SPACES and slug not in known:
        raise Conflict(f"there are {len(known)} spaces already; the maximum is {MAX_SPACES}")


def choice_of(space: Space) -> ModelChoice:
    """The model of a space that is registered."""
    identity = space.identity
    return ModelChoice(cast("Provider", identity.provider), identity.model, identity.dimensions)
