"""All spaces of texts, each with its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kg_api.embed.port import Embedder
from kg_api.embed.probed import embed_probed
from kg_api.errors import ConfigurationError
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import (
    Space,
    all_spaces,
    display_name,
    ensure_space,
    find_space,
    text_spaces,
)
from kg_api.models.embedding.spaces import FIRST_SLUG, ModelChoice, NewSpace, SpaceIdentity
from kg_api.models.vocabulary import Provider
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.open_spaces import OpenSpaces, register_probed, require_room
from kg_api.spaces.probe import PROBE_TEXT

OpenModel = Callable[[ModelChoice | None], Embedder]
"""Opens a model; None: the one that the settings name."""


class SpaceRegistry(OpenSpaces[OpenSpace]):
    """Gives the spaces, opening each when it is asked for. Thread-safe; one a process."""

    def __init__(self, graph: Graph, open_model: OpenModel) -> None:
        super().__init__(graph)
        self._open_model = open_model

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

    def all(self) -> list[OpenSpace]:
        """Every space of texts, the oldest first."""
        return [self.of(space) for space in text_spaces(self._graph).values()]

    def add(self, new: NewSpace, fingerprint: str = "") -> OpenSpace:
        """Register a further space: its model is opened and asked, its index made.

        Args:
            new: its name and model.
            fingerprint: which the model must have; any if empty.

        Raises:
            Conflict: there is one of that name for another model.
            ConfigurationError: the model cannot be used, or has another fingerprint; the message says why.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        require_room(all_spaces(self._graph), new.slug)
        choice = ModelChoice(cast("Provider", new.provider), new.model, new.dimensions)
        embedder = self._open_model(choice)
        try:
            _require_fingerprint(embedder.identity, fingerprint)
            # before anything is registered: it would stay
            probe = embed_probed(embedder, [], PROBE_TEXT, query=True)[-1]
            space = register_probed(self._graph, embedder.identity, new.slug, probe)
            opened = OpenSpace(self._graph, space, lambda: embedder, checked=True)
        except BaseException:
            embedder.close()
            raise
        kept = self._add(opened)
        if kept is opened:
            kept.calibrate_soon()
        return kept

    def _find(self, space: Space) -> OpenSpace:
        choice = None if space.slug == FIRST_SLUG else choice_of(space)
        return OpenSpace(self._graph, space, lambda: self._open_model(choice))


def _require_fingerprint(identity: SpaceIdentity, fingerprint: str) -> None:
    if fingerprint and identity.fingerprint != fingerprint:
        raise ConfigurationError(f"this kg opens {display_name(identity)}, with other weights or settings")


def choice_of(space: Space) -> ModelChoice:
    """The model of a space that is registered."""
    identity = space.identity
    return ModelChoice(cast("Provider", identity.provider), identity.model, identity.dimensions)
