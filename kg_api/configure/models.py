"""The models of all spaces: what they are, and whether they answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from kg_api.embed.remote.traits import list_learned
from kg_api.errors import ConfigurationError, Conflict, InvalidInput, KgError
from kg_api.graph.database import Graph
from kg_api.graph.spaces.configuration import StoredConfiguration, read_configurations, spaces_of_new
from kg_api.graph.spaces.registry import Space, all_spaces, find_space
from kg_api.models.embedding.spaces import (
    EmbeddingHealth,
    NewSpace,
    SpaceHealth,
    SpaceInfo,
    SpaceState,
)
from kg_api.models.vocabulary import Modality
from kg_api.spaces.images.open_space import OpenImageSpace
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.registry import SpaceRegistry

ASKED_AT_ONCE = 8


class ModelService:
    """Spaces as a person sees them."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        images: ImageSpaceRegistry,
        *,
        price_of: Callable[[Space], float | None],
        batch_size_of: Callable[[Space], int],
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._images = images
        self._price_of = price_of
        self._batch_size_of = batch_size_of

    def infos(self) -> list[SpaceInfo]:
        """All spaces, the oldest first."""
        uses = _uses(read_configurations(self._graph))
        of_new = spaces_of_new(self._graph)
        return [self._info(space, uses, of_new) for space in all_spaces(self._graph).values()]

    def add(self, new: NewSpace) -> SpaceInfo:
        """Make a further space, or find that it is there.

        Raises:
            InvalidInput: the model cannot be used with these settings; the message says what is missing.
            Conflict: there is a space of that name for another model.
            EmbeddingUnavailable: the model does not answer.
        """
        try:
            opened = self._images.add(new) if new.modality == "image" else self._spaces.add(new)
        except Conflict:
            raise
        except ConfigurationError as error:
            raise InvalidInput(str(error)) from error
        uses = _uses(read_configurations(self._graph))
        space = find_space(self._graph, opened.space.slug)
        return self._info(space, uses, spaces_of_new(self._graph))

    def health(self) -> EmbeddingHealth:
        """Ask every model for its probe text."""
        opened = [*self._spaces.all(), *self._images.all()]
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            found = list(pool.map(_check_space, opened))
        good = all(each.status == "ok" for each in found)
        return EmbeddingHealth(status="ok" if good else "error", spaces=found, notes=list_learned())

    def _info(self, space: Space, uses: dict[str, Uses], of_new: Mapping[Modality, str]) -> SpaceInfo:
        use = uses.get(space.slug, Uses())
        return SpaceInfo(
            slug=space.slug,
            **asdict(space.identity),
            fingerprint=space.identity.fingerprint,
            batch_size=self._batch_size_of(space),
            price_per_million_tokens=self._price_of(space),
            state=_state(space, use),
            for_new=space.slug == of_new[space.identity.modality],
            created_at=space.created_at.to_native(),
            ontologies=use.answering,
            building=use.building,
            retiring=use.previous,
        )


@dataclass(frozen=True, slots=True)
class Uses:
    """The ontologies that use a space, by what for."""

    answering: list[str] = field(default_factory=list[str])
    building: list[str] = field(default_factory=list[str])
    previous: list[str] = field(default_factory=list[str])


def _uses(configurations: Mapping[str, StoredConfiguration]) -> dict[str, Uses]:
    uses: dict[str, Uses] = {}
    for name, configured in configurations.items():
        uses.setdefault(configured.answering.space, Uses()).answering.append(name)
        if configured.serving is not None and configured.target.space != configured.answering.space:
            uses.setdefault(configured.target.space, Uses()).building.append(name)
        images = configured.images
        uses.setdefault(images.answering, Uses()).answering.append(name)
        if images.serving is not None:
            uses.setdefault(images.target, Uses()).building.append(name)
        if images.previous is not None:
            uses.setdefault(images.previous, Uses()).previous.append(name)
        if configured.previous is not None and configured.previous.space != configured.answering.space:
            uses.setdefault(configured.previous.space, Uses()).previous.append(name)
    return uses


def _state(space: Space, use: Uses) -> SpaceState:
    if space.dropping:
        return "dropping"
    if use.answering or space.for_new:
        return "active"
    if use.building:
        return "building"
    return "retiring" if use.previous else "idle"


def _check_space(opened: OpenSpace | OpenImageSpace) -> SpaceHealth:
    begun = time.perf_counter()
    try:
        opened.check()
    except KgError as error:  # one space's trouble is told, the others' health too
        return SpaceHealth(slug=opened.space.slug, status="error", latency_ms=None, error=str(error))
    return SpaceHealth(
        slug=opened.space.slug, status="ok", latency_ms=round((time.perf_counter() - begun) * 1000, 1)
    )
