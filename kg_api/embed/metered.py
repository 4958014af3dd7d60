"""An embedder that counts what it does, for /metrics and the log: numbers and names, never texts or keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import structlog
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from kg_api.embed.open import open_embedder
from kg_api.embed.port import Embedder, TextPart, TokenEmbedder, Vectors, gives_tokens
from kg_api.embed.probed import embed_probed
from kg_api.embed.tally import counting
from kg_api.errors import EmbeddingUnavailable, KgError
from kg_api.metrics.files import reserve_room
from kg_api.metrics.once import once_per_process
from kg_api.models.embedding.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
"""Seconds: a local question takes 4 ms, a batch a second, a provider with all its tries a minute."""


class EmbeddingMetrics:
    """The counters of a process, shared by all its embedders."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register them; once in a registry."""
        self.embeddings = Counter(
            "embeddings_total", "Texts embedded.", ("model", "dimensions"), registry=registry
        )
        self.latency = Histogram(
            "embedding_latency_seconds",
            "Time of one call, tries and waits included.",
            ("model",),
            registry=registry,
            buckets=BUCKETS,
        )
        self.errors = Counter("embedding_errors_total", "Calls that failed.", ("type",), registry=registry)
        self.tokens = Counter("embedding_tokens_total", "Tokens read.", ("model",), registry=registry)
        self.probes = Counter(
            "embedding_probes_total",
            "Probe texts embedded, to see that the model is the same; not among the others.",
            ("model",),
            registry=registry,
        )


class MeteredEmbedder:
    """Another embedder, watched. What is not embedding costs nothing extra and is not counted."""

    def __init__(self, embedder: Embedder, metrics: EmbeddingMetrics) -> None:
        self._embedder = embedder
        self._metrics = metrics

    @property
    def identity(self) -> SpaceIdentity:
        """That of the embedder watched."""
        return self._embedder.identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._watch("passages", len(texts), lambda: self._embedder.embed_passages(texts))

    def embed_query(self, text: str) -> Vectors:
        return self._watch("query", 1, lambda: self._embedder.embed_query(text))

    def embed_probed(self, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
        what = ("query" if query else "passages") if texts else "probe"
        found = self._watch(what, len(texts), lambda: embed_probed(self._embedder, texts, probe, query=query))
        self._metrics.probes.labels(self.identity.model).inc()
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
            self._record_failure(what, texts, time.perf_counter() - begun, error)
            raise
        self._record_success(what, texts, time.perf_counter() - begun, tally.tokens)
        return found

    def _record_success(self, what: str, texts: int, seconds: float, tokens: int) -> None:
        if not texts:  # a probe alone
            return
        identity = self.identity
        self._metrics.embeddings.labels(identity.model, str(identity.dimensions)).inc(texts)
        self._metrics.latency.labels(identity.model).observe(seconds)
        self._metrics.tokens.labels(identity.model).inc(tokens)
        write = log.debug if what == "query" else log.info
        write("embedded", of=what, model=identity.model, texts=texts, tokens=tokens, ms=_ms(seconds))

    def _record_failure(self, what: str, texts: int, seconds: float, error: KgError) -> None:
        model = self._model()
        self._metrics.errors.labels(error.slug()).inc()
        self._metrics.latency.labels(model).observe(seconds)
        log.warning("not embedded", of=what, model=model, texts=texts, ms=_ms(seconds), error=error.slug())

    def _model(self) -> str:
        try:
            return self.identity.model
        except EmbeddingUnavailable:  # it could not be opened, so that nobody knows
            return "unknown"


class MeteredTokenEmbedder(MeteredEmbedder):
    """The same for a model that gives token vectors."""

    def __init__(self, embedder: TokenEmbedder, metrics: EmbeddingMetrics) -> None:
        super().__init__(embedder, metrics)
        self._parts = embedder

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        return self._watch("parts", len(parts), lambda: self._parts.embed_parts(parts))


def meter(embedder: Embedder, metrics: EmbeddingMetrics) -> Embedder:
    """Watch an embedder; what it can do besides, it still can."""
    if gives_tokens(embedder):
        return MeteredTokenEmbedder(embedder, metrics)
    return MeteredEmbedder(embedder, metrics)


def open_metered(settings: Settings, choice: ModelChoice | None) -> Embedder:
    """Open a model as `open_embedder` does, and watch it."""
    return meter(open_embedder(settings, choice), metrics_of_process())


@once_per_process
def metrics_of_process() -> EmbeddingMetrics:
    """One for all embedders of the process."""
    reserve_room()
    return EmbeddingMetrics(REGISTRY)


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)
