"""The first spaces, those of the models that the settings name, and the one that new ontologies have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from kg_api.embed.port import Embedder
from kg_api.errors import (
    ConfigurationError,
    EmbeddingFailed,
    EmbeddingUnavailable,
    KgError,
    ManagedProcessError,
    NotFound,
    Unavailable,
)
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.spaces import FIRST_SLUG
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.registry import SpaceRegistry

log = structlog.get_logger()


def open_first_space(spaces: SpaceRegistry, open_model: Callable[[], Embedder], *, required: bool) -> None:
    """Open the settings' own model, and see that it answers as it did when its vectors were made.

    A provider that does not answer is no reason to stay away: searches go on with full text, jobs wait.

    Args:
        spaces: where it is registered.
        open_model: opens it.
        required: whether a model that cannot be opened is an error although its space is registered.

    Raises:
        ConfigurationError: the model is not the one whose vectors are stored, or cannot be opened.
        ManagedProcessError: it cannot be fetched.
    """
    try:
        embedder = open_model()
    except (EmbeddingUnavailable, ManagedProcessError, ConfigurationError) as error:
        if required or not _is_registered(spaces):
            raise
        log.critical("searching by full text only: the embedding model cannot be loaded", reason=str(error))
        return
    first = spaces.open_first(embedder)
    try:
        first.check()
    except (EmbeddingUnavailable, EmbeddingFailed) as error:
        log.critical("searching by full text only until the embedding model answers", reason=str(error))


def register_first_images(images: ImageSpaceRegistry) -> None:
    """See that there is a space of pictures; one that cannot be had is no reason to stay away."""
    try:
        images.ensure_first()
    except KgError as error:
        log.critical("pictures are found by their words only", reason=str(error))


def _is_registered(spaces: SpaceRegistry) -> bool:
    try:
        spaces.get()
    except NotFound:
        return False
    return True


def space_of_new(spaces: Mapping[str, Space]) -> Space:
    """The space of ontologies that nobody has configured."""
    texts = [space for space in spaces.values() if not space.is_of_images]
    chosen = [space for space in texts if space.for_new or space.slug == FIRST_SLUG]
    if not chosen:
        raise Unavailable("no embedding space is registered; one is at the next start: kg down, kg up")
    return max(chosen, key=lambda space: space.for_new)
