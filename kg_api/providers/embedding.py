"""Factory to open embedders, metrics to measure them, and a deterministic embedder for tests."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter as CollectionsCounter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import structlog

from kg_api.errors import ConfigurationError, KgError
from kg_api.metrics import Meters, get_meters
from kg_api.providers.embedding_port import (
    CATALOGUE,
    DEFAULT_MODELS,
    Embedder,
    ModelSpec,
    TextPart,
    TokenizedEmbedder,
    Vectors,
    counting,
    embed_probed,
    is_token_embedder,
    normalize_vector,
    own_model,
    report_too_long,
    require_packaged_model,
    require_text,
    spend,
)
from kg_api.providers.model_files import describe, ensure_packaged, find_model, group_by_text, join_vectors
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import Settings

_WORD = re.compile(r"\w+")


class DeterministicEmbedder(TokenizedEmbedder):
    """Embedder to use in tests. It hashes words and pairs of words to signed counts.

    Vectors are equal on all machines and in all releases. Changed vectors need a new revision.
    """

    def __init__(self, dimensions: int = 256, max_tokens: int = 512) -> None:
        super().__init__(SpaceIdentity("deterministic", "word-hash", "1", dimensions, max_tokens), _Words())

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self._identity.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self._compute_vector(text)
        spend(self.count_tokens(texts))
        return vectors

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        """Embed parts with the texts. All words in a text have the same influence."""
        numbers = group_by_text(parts)
        around = self.embed_passages(list(numbers))
        within = {at: row for mine, row in zip(numbers.values(), around, strict=True) for at in mine}
        return join_vectors(self.embed_passages([part.separate_text for part in parts]), within)

    def embed_query(self, text: str) -> Vectors:
        pieces = self.embed_passages(self._split_pieces(text))
        return normalize_vector(pieces.mean(axis=0, dtype=np.float64), self._identity.dimensions)

    def close(self) -> None:
        """Do nothing."""

    def _compute_vector(self, text: str) -> Vectors:
        require_text(text)
        words = _WORD.findall(text.casefold())
        if len(words) > self._identity.max_tokens:
            raise report_too_long(self._identity.max_tokens)
        counts = self._count_features(CollectionsCounter([*words, *map(" ".join, pairwise(words))]))
        if not counts.any():  # no words, or all signs cancel out
            counts = self._count_features(CollectionsCounter([text]))
        return normalize_vector(counts, self._identity.dimensions)

    def _count_features(self, features: CollectionsCounter[str]) -> Vectors:
        counts = np.zeros(self._identity.dimensions, dtype=np.float32)
        for feature, count in features.items():
            number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
            counts[(number >> 1) % len(counts)] += count if number & 1 else -count
        return counts


class _Words:
    """Tokenizer that uses each word as a token."""

    special = 0
    widest = 1

    def max_characters(self, max_tokens: int) -> int:  # noqa: ARG002 - words may be of any length
        return 1_000_000

    def count(self, text: str) -> int:
        return sum(1 for _ in _WORD.finditer(text))


# Embedder of the settings or a space


def get_default_choice(settings: Settings) -> ModelChoice:
    """Get the model from the settings. If it is in a user's folder, it has no name here."""
    own = settings.embedding
    match own.provider:
        case "openai":
            return ModelChoice("openai", own_model(settings), settings.openai.embed_dims)
        case "local" if own.model_folder is not None:
            return ModelChoice("local")
        case provider:
            return ModelChoice(provider, own.model or DEFAULT_MODELS[provider])


def open_embedder(settings: Settings, choice: ModelChoice | None = None) -> Embedder:
    """Open an embedder (default: from the settings).

    A missing local model is downloaded. No request is sent to a provider.
    """
    choice = choice or get_default_choice(settings)
    match choice.provider:
        case "deterministic":
            usual = DEFAULT_MODELS["deterministic"]
            if choice.model not in {None, usual}:
                raise ConfigurationError(f"KG_EMBEDDING__MODEL: the deterministic model is called {usual}")
            return DeterministicEmbedder(choice.dimensions) if choice.dimensions else DeterministicEmbedder()
        case "local":
            from kg_api.providers.local_embedding import LocalEmbedder  # noqa: PLC0415 - onnxruntime takes its time to import

            folder, spec = _find_local(settings, choice.model)
            if choice.dimensions not in {None, spec.dimensions}:
                raise ConfigurationError(
                    f"{spec.name} returns vectors of {spec.dimensions} dimensions, not {choice.dimensions}"
                )
            return LocalEmbedder(folder, spec, settings.embedding.threads)
        case "openai":
            from kg_api.providers.embedding_endpoints import open_openai  # noqa: PLC0415 - httpx takes its time to import

            return open_openai(settings, choice)
        case _:
            from kg_api.providers.embedding_endpoints import open_nomic  # noqa: PLC0415 - the same

            return open_nomic(settings, choice)


def _find_local(settings: Settings, name: str | None) -> tuple[Path, ModelSpec]:
    """Find a packaged model by name, or the model in the configured folder."""
    if name is None:
        return find_model(settings)
    own = settings.embedding.model_folder
    if own is not None and name not in CATALOGUE and (described := describe(own)).name == name:
        return own, described
    model = CATALOGUE[require_packaged_model(name)]
    return ensure_packaged(model, settings.cache), model.spec


# Metrics and log of embedders. They contain numbers and names, but no texts or keys.

log = structlog.get_logger(__name__)
T = TypeVar("T")


class MeteredEmbedder:
    """Embedder to measure another embedder. Other methods are passed through."""

    def __init__(self, embedder: Embedder, metrics: Meters) -> None:
        self._embedder = embedder
        self._metrics = metrics
        if is_token_embedder(embedder):
            embed = embedder.embed_parts

            def embed_parts(parts: Sequence[TextPart]) -> Vectors:
                return self._watch("parts", len(parts), lambda: embed(parts))

            self.embed_parts = embed_parts

    @property
    def identity(self) -> SpaceIdentity:
        return self._embedder.identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._watch("passages", len(texts), lambda: self._embedder.embed_passages(texts))

    def embed_query(self, text: str) -> Vectors:
        return self._watch("query", 1, lambda: self._embedder.embed_query(text))

    def embed_probed(self, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
        what = ("query" if query else "passages") if texts else "probe"
        found = self._watch(what, len(texts), lambda: embed_probed(self._embedder, texts, probe, query=query))
        self._metrics.count("embedding_probes", self.identity.model)
        return found

    def spans(self, text: str, before: str = "") -> list[tuple[int, int]]:
        return self._embedder.spans(text, before)

    def count_tokens(self, texts: Sequence[str]) -> int:
        return self._embedder.count_tokens(texts)

    def close(self) -> None:
        self._embedder.close()

    def _watch(self, what: str, texts: int, embed: Callable[[], T]) -> T:
        begun = time.perf_counter()
        try:
            with counting() as tally:
                found = embed()
        except KgError as error:
            seconds, model = time.perf_counter() - begun, self.identity.model
            self._metrics.count("embedding_errors", error.slug())
            self._metrics.observe("embedding_latency_seconds", model, seconds=seconds)
            log.warning(
                "not embedded", of=what, model=model, texts=texts, ms=_to_ms(seconds), error=error.slug()
            )
            raise
        self._record_success(what, texts, time.perf_counter() - begun, tally.tokens)
        return found

    def _record_success(self, what: str, texts: int, seconds: float, tokens: int) -> None:
        if not texts:  # probe only
            return
        identity = self.identity
        self._metrics.count("embeddings", identity.model, str(identity.dimensions), by=texts)
        self._metrics.observe("embedding_latency_seconds", identity.model, seconds=seconds)
        self._metrics.count("embedding_tokens", identity.model, by=tokens)
        write = log.debug if what == "query" else log.info
        write("embedded", of=what, model=identity.model, texts=texts, tokens=tokens, ms=_to_ms(seconds))


def open_metered(settings: Settings, choice: ModelChoice | None) -> Embedder:
    """Open a model using `open_embedder`, and measure it."""
    return MeteredEmbedder(open_embedder(settings, choice), get_meters())


def _to_ms(seconds: float) -> float:
    return round(1000 * seconds, 1)
