"""The models of all spaces: what they are, and whether they answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kg_api.errors import ConfigurationError, Conflict, InvalidInput, KgError
from kg_api.graph.spaces import Space
from kg_api.models.spaces import EmbeddingHealth, NewSpace, SpaceHealth, SpaceInfo
from kg_api.spaces.open_space import OpenSpace
from kg_api.spaces.registry import SpaceRegistry

ASKED_AT_ONCE = 8


class ModelService:
    """Spaces as a person sees them."""

    def __init__(
        self,
        spaces: SpaceRegistry,
        *,
        price_of: Callable[[Space], float | None],
        batch_size_of: Callable[[Space], int],
    ) -> None:
        self._spaces = spaces
        self._price_of = price_of
        self._batch_size_of = batch_size_of

    def infos(self) -> list[SpaceInfo]:
        """All spaces, the oldest first."""
        return [self._info(opened.space, ontologies) for opened, ontologies in self._spaces.all()]

    def add(self, new: NewSpace) -> SpaceInfo:
        """Make a further space, or find that it is there.

        Raises:
            InvalidInput: the model cannot be used with these settings; the message says what is missing.
            Conflict: there is a space of that name for another model.
            EmbeddingUnavailable: the model does not answer.
        """
        try:
            opened = self._spaces.add(new)
        except Conflict:
            raise
        except ConfigurationError as error:
            raise InvalidInput(str(error)) from error
        return self._info(opened.space, ())

    def health(self) -> EmbeddingHealth:
        """Ask every model for its probe text."""
        opened = [each for each, _ in self._spaces.all()]
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            found = list(pool.map(_asked, opened))
        good = all(each.status == "ok" for each in found)
        return EmbeddingHealth(status="ok" if good else "error", spaces=found)

    def _info(self, space: Space, ontologies: tuple[str, ...]) -> SpaceInfo:
        identity = space.identity
        return SpaceInfo(
            slug=space.slug,
            provider=identity.provider,
            model=identity.model,
            revision=identity.revision,
            dimensions=identity.dimensions,
            max_tokens=identity.max_tokens,
            batch_size=self._batch_size_of(space),
            price_per_million_tokens=self._price_of(space),
            query_prefix=identity.query_prefix,
            passage_prefix=identity.passage_prefix,
            fingerprint=identity.fingerprint,
            state=space.state,
            created_at=space.created_at.to_native(),
            ontologies=list(ontologies),
        )


def _asked(opened: OpenSpace) -> SpaceHealth:
    begun = time.perf_counter()
    try:
        opened.check()
    except KgError as error:  # one space's trouble is told, the others' health too
        return SpaceHealth(slug=opened.space.slug, status="error", latency_ms=None, error=str(error))
    return SpaceHealth(
        slug=opened.space.slug, status="ok", latency_ms=round((time.perf_counter() - begun) * 1000, 1)
    )
