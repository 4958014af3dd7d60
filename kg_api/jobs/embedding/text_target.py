"""What is embedded by one text each, and walked in the order of its ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Embedder, RejectedTexts
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.due import DueText, Wanted, count_due
from kg_api.graph.spaces.marks import reject
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.target import EmbeddingTarget, blame_items

EmbeddedTexts = Sequence[tuple[DueText, NDArray[np.float32]]]


class TextTarget(EmbeddingTarget[DueText, EmbeddedTexts]):
    """All but finding and writing them."""

    def __init__(self, graph: Graph, space: Space, wanted: Wanted, model: SpaceModel) -> None:
        self._graph = graph
        self._space = space.at("")
        self._wanted = wanted
        self._model = model

    @property
    def model(self) -> SpaceModel:
        return self._model

    def count(self) -> int:
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[DueText]) -> EmbeddedTexts:
        """Embed as much of each text as the model takes.

        Raises:
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            RejectedText: one of the texts is refused.
        """
        embedder = self._model.opened.embedder()
        texts = [_fitting(embedder, each.text) for each in items]
        try:
            vectors = self._model.embed(texts)
        except RejectedTexts as error:
            named = zip((each.identity for each in items), texts, strict=True)
            raise blame_items(error, named) from error
        return list(zip(items, vectors, strict=True))

    def characters(self, items: Sequence[DueText]) -> int:
        """How long their texts are together."""
        return sum(len(each.text) for each in items)

    def reject(self, tx: Transaction, item: DueText, reason: str) -> None:
        """Mark one that the model does not take."""
        texts = {"identity": item.identity, "text_hash": item.text_hash}
        reject(tx, self._space, self._wanted.mark, **texts, reason=reason)


def _fitting(embedder: Embedder, text: str) -> str:
    """As much of a text as the model takes: what matters stands at its beginning."""
    spans = embedder.spans(text)
    return text[: spans[0][1]] if spans else text
