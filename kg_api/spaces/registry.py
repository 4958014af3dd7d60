"""Text spaces with their models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import (
    ConfigurationError,
    EmbeddingFailed,
    EmbeddingUnavailable,
    KgError,
    ManagedProcessError,
    NotFound,
    Unavailable,
)
from kg_api.graph.cache import read_vectors, store_vectors
from kg_api.graph.client import Graph
from kg_api.graph.spaces import Space, find_default_spaces
from kg_api.providers.embedding_port import IN_PROCESS, Embedder, TextPart, get_price, require_tokens
from kg_api.schemas.base import compute_digest
from kg_api.schemas.spaces import FIRST_SLUG, ModelChoice, NewSpace
from kg_api.schemas.vocabulary import Provider
from kg_api.settings import Settings
from kg_api.spaces.images import ImageSpaceRegistry
from kg_api.spaces.open_spaces import FAULTS, OpenSpace, OpenSpaces
from kg_api.text.windows import WINDOW_VERSION
from kg_api.wording import is_loopback


class SpaceRegistry(OpenSpaces[Embedder, OpenSpace]):
    first = FIRST_SLUG
    modality = "text"
    opened_as = OpenSpace

    def add(self, new: NewSpace, fingerprint: str = "") -> OpenSpace:
        opened = super().add(new, fingerprint)
        if opened.space.calibration is None:
            opened.calibrate_soon()
        return opened


# Cost and batch size of a space's model

MAX_IMAGE_BATCH = 16
"""Images decoded at once, independent of the text batch. An image for a remote model may have 3 MB."""


def get_space_price(settings: Settings, space: Space) -> float | None:
    """Return US dollars per million tokens. None: unknown."""
    if space.is_of_images:
        return 0.0 if space.identity.provider in IN_PROCESS else None
    identity = space.identity
    provider = cast("Provider", identity.provider)
    return get_price(ModelChoice(provider, identity.model, identity.dimensions), settings)


def get_space_batch_size(settings: Settings, space: Space) -> int:
    """Get the texts or images per request to the model."""
    batch = settings.worker.sources_a_batch
    if space.is_of_images:
        return min(batch, MAX_IMAGE_BATCH)
    sizes = {"openai": settings.openai.batch_size, "nomic": settings.nomic.batch_size}
    return sizes.get(space.identity.provider, batch)


def is_paid(settings: Settings, space: Space) -> bool:
    """Check if embedding probably costs money: the model is remote or has a price."""
    # A loopback URL may be a proxy for a paid service or a local server such as Ollama.
    served = {"openai": settings.openai, "nomic": settings.nomic}
    provider = space.identity.provider
    if provider in IN_PROCESS:
        return False
    address = served[provider].base_url if provider in served else ""
    return not is_loopback(urlsplit(address).hostname or "") or bool(get_space_price(settings, space))


# Passage vectors with a cache

Passage = str | TextPart  # a separate text, or a part embedded within its text


@dataclass(frozen=True, slots=True)
class CachedPassages:
    """Embeds passages. `keeps`: cache vectors beyond one call."""

    graph: Graph
    keeps: bool

    def embed(
        self, opened: OpenSpace, passages: Sequence[Passage], *, fresh: bool = False
    ) -> NDArray[np.float32]:
        """Embed passages, with equal passages once. `fresh` bypasses cached vectors."""
        if not passages:
            return np.empty((0, opened.space.dimensions), dtype=np.float32)
        keys = [_compute_key(opened.space.fingerprint, passage) for passage in passages]
        unique = dict(zip(keys, passages, strict=True))
        known = read_vectors(self.graph, list(unique)) if self.keeps and not fresh else {}
        missing = {key: passage for key, passage in unique.items() if key not in known}
        new = _make(opened, missing) if missing else {}
        if self.keeps:
            store_vectors(self.graph, new, list(known))
        return np.stack([known[key] if key in known else new[key] for key in keys])


def _compute_key(fingerprint: str, passage: Passage) -> str:
    """Return a key that covers all inputs of the vector."""
    if isinstance(passage, str):
        return compute_digest("vector", fingerprint, passage)
    place = (str(passage.start), str(passage.end))
    return compute_digest("late", fingerprint, WINDOW_VERSION, passage.text, *place, passage.before)


def _make(opened: OpenSpace, passages: Mapping[str, Passage]) -> dict[str, NDArray[np.float32]]:
    texts = {key: passage for key, passage in passages.items() if isinstance(passage, str)}
    parts = {key: passage for key, passage in passages.items() if isinstance(passage, TextPart)}
    made: dict[str, NDArray[np.float32]] = {}
    if texts:
        made |= zip(texts, opened.embed_passages(list(texts.values())), strict=True)
    if parts:
        made |= zip(
            parts, require_tokens(opened.get_embedder()).embed_parts(list(parts.values())), strict=True
        )
    return made


# Token counts, estimated if the model is unavailable

BYTES_A_TOKEN = 2
"""Deliberately low: texts in 12 languages have 2.1 (Greek, Russian) to 4.9 (English) bytes per token."""


@dataclass(frozen=True, slots=True)
class ModelTokenCounter:
    """Counts tokens without the tokens that a model adds to each text."""

    embedder: Embedder | None
    problem: str | None = None  # reason for an estimate

    def __call__(self, texts: Sequence[str]) -> list[int]:
        if self.embedder is None:
            return [estimate_tokens(text) for text in texts]
        around = self.embedder.count_tokens([""])
        return [max(0, self.embedder.count_tokens([text]) - around) for text in texts]


def build_space_token_counter(opened: OpenSpace) -> ModelTokenCounter:
    """Build the token counter of a space. If the model is unavailable, the counter estimates."""
    try:
        return ModelTokenCounter(opened.get_embedder())
    except FAULTS as error:
        token_counter = (
            "token counts are estimated as half the bytes, because the tokenizer of the model is not "
            f"available ({error})"
        )
        return ModelTokenCounter(None, token_counter)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens conservatively, for any model."""
    return math.ceil(len(text.encode()) / BYTES_A_TOKEN)


# First spaces (models of the settings), and the space of new ontologies

log = structlog.get_logger()


def open_first_space(spaces: SpaceRegistry, open_model: Callable[[], Embedder], *, required: bool) -> None:
    """Open the model of the settings and verify that it matches its stored vectors."""
    # An unavailable provider does not prevent the start. Searches use full text, and jobs wait.
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
    """Register an image space. A failure does not prevent the start."""
    try:
        images.ensure_first()
    except KgError as error:
        log.critical("images are found only by their text", reason=str(error))


def _is_registered(spaces: SpaceRegistry) -> bool:
    try:
        spaces.get()
    except NotFound:
        return False
    return True


def get_default_space(spaces: Mapping[str, Space]) -> Space:
    """Return the default space of new ontologies."""
    slug = find_default_spaces(spaces)["text"]
    if slug not in spaces:
        raise Unavailable("no embedding space is registered. The next start registers one: kg down, kg up")
    return spaces[slug]
