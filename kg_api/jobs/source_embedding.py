"""The job that gives an ontology's sources their vectors: fetch missing -> embed -> write, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg_api.embed.port import Embedder, Vectors
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces import Space
from kg_api.graph.vectors import (
    DueSource,
    EmbeddedChunk,
    EmbeddedSource,
    sources_without_vector,
    write_vectors,
)
from kg_api.jobs.run import JobRun

KIND = "source_embedding"


class SourceEmbedding:
    """Handles jobs of kind `source_embedding`. Memory is bounded by one batch of sources."""

    kind = KIND

    def __init__(self, graph: Graph, embedder: Embedder, space: Space, batch_size: int) -> None:
        self._graph = graph
        self._embedder = embedder
        self._space = space
        self._batch_size = batch_size

    def run(self, run: JobRun) -> None:
        """Walk the ontology's sources in the order of their ids, again while more come in."""
        while True:
            while due := self._due(run):
                run.checkpoint()
                self._embed_batch(run, due)
            if run.finish():
                return

    def _due(self, run: JobRun) -> list[DueSource]:
        return sources_without_vector(
            self._graph,
            run.job.ontology or "",
            self._space.fingerprint,
            after=run.cursor,
            limit=self._batch_size,
        )

    def _embed_batch(self, run: JobRun, due: Sequence[DueSource]) -> None:
        embedded = embed_sources(self._embedder, due)

        def write(tx: Transaction) -> None:
            write_vectors(
                tx, embedded, fingerprint=self._space.fingerprint, dimensions=self._space.dimensions
            )

        run.commit(write, after=due[-1].source_id, done=len(due))


def embed_sources(embedder: Embedder, due: Sequence[DueSource]) -> list[EmbeddedSource]:
    """Embed sources; one that is longer than the model takes is embedded in chunks, nothing is cut off.

    Raises:
        EmbeddingFailed: the model gave unusable vectors.
    """
    spans = [_spans(embedder, each.full_text) for each in due]
    texts = [each.full_text[a:b].strip() for each, parts in zip(due, spans, strict=True) for a, b in parts]
    vectors = embedder.embed_passages(texts)
    borders = np.cumsum([len(parts) for parts in spans])[:-1]
    portions = np.split(vectors, borders)
    return [_embedded(*each) for each in zip(due, spans, portions, strict=True)]


def _spans(embedder: Embedder, text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end in embedder.spans(text) if text[start:end].strip()]


def _embedded(due: DueSource, spans: Sequence[tuple[int, int]], vectors: Vectors) -> EmbeddedSource:
    if len(spans) == 1:
        return EmbeddedSource(due, vectors[0])
    mean = vectors.mean(axis=0)
    pooled = (mean / np.linalg.norm(mean)).astype(np.float32)
    chunks = [
        EmbeddedChunk(start, end - start, vector) for (start, end), vector in zip(spans, vectors, strict=True)
    ]
    return EmbeddedSource(due, pooled, chunks)
