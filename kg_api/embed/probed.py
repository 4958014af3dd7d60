"""Texts and a probe text, whose vector is known, in one go: the same reply tells which model answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np

from kg_api.embed.port import Embedder, Vectors
from kg_api.embed.tally import counting


class ProbedEmbedder(Embedder, Protocol):
    """A model that takes the probe along in the request for other texts."""

    def embed_probed(self, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
        """Embed texts as questions or as passages, and with them, in the last request, the probe.

        The probe's tokens are not counted as spent.

        Returns:
            float32, shape (len(texts) + 1, dimensions): those of the texts in their order, then the probe's.

        Raises:
            As `embed_query` and `embed_passages`.
        """
        ...


def takes_probe(embedder: Embedder) -> TypeGuard[ProbedEmbedder]:
    """Whether an embedder takes a probe along; nothing is asked of the model."""
    return callable(getattr(embedder, "embed_probed", None))


def embed_probed(embedder: Embedder, texts: Sequence[str], probe: str, *, query: bool) -> Vectors:
    """See `ProbedEmbedder`; an embedder that does not take the probe along is asked for it by itself."""
    if takes_probe(embedder):
        return embedder.embed_probed(texts, probe, query=query)
    rows = [embedder.embed_query(text) for text in texts] if query else list(embedder.embed_passages(texts))
    with counting():  # apart from what the caller counts
        rows.append(embedder.embed_query(probe) if query else embedder.embed_passages([probe])[0])
    return np.stack(rows)
