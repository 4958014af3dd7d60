"""Concepts that are embedded: by their label and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Embedder
from kg_api.graph.concepts.vectors import (
    ConceptPlan,
    ConceptText,
    concepts_before,
    due_concepts,
    write_concept_vectors,
)
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.due import Wanted, count_due
from kg_api.graph.spaces.marks import reject
from kg_api.jobs.embedding.model import SpaceModel
from kg_api.jobs.embedding.target import EmbeddingTarget

EmbeddedConcepts = Sequence[tuple[ConceptText, NDArray[np.float32]]]
Merge = Callable[[Iterable[str]], object]
"""Merges concepts with those that are the same."""


class ConceptTarget(EmbeddingTarget[ConceptText, EmbeddedConcepts]):
    """The concepts of an ontology that are due in a space, in the order of their ids."""

    noun = "concept"

    def __init__(
        self, graph: Graph, plan: ConceptPlan, wanted: Wanted, model: SpaceModel, merge: Merge
    ) -> None:
        """`merge`: given the ids of each batch that is written."""
        self.name = f"{plan.space.slug}={plan.mark.value}"
        self._graph = graph
        self._plan = plan
        self._wanted = wanted
        self._model = model
        self._merge = merge
        self._written: list[str] = []

    @property
    def model(self) -> SpaceModel:
        """That of the space."""
        return self._model

    def due(self, after: str, limit: int) -> list[ConceptText]:
        """The next concepts."""
        return due_concepts(self._graph, self._wanted, after=after, limit=limit)

    def count(self) -> int:
        """How many."""
        return count_due(self._graph, self._wanted)

    def embed(self, items: Sequence[ConceptText]) -> EmbeddedConcepts:
        """Embed as much of each text as the model takes.

        Raises:
            EmbeddingUnavailable, ConfigurationError: the model does not answer.
            RejectedText: one of the texts is refused.
        """
        embedder = self.model.opened.embedder()
        vectors = self.model.embed([fitting(embedder, each.text) for each in items])
        return list(zip(items, vectors, strict=True))

    def write(self, tx: Transaction, batch: EmbeddedConcepts) -> int:
        """Write the vectors of those whose text is still the same; how many."""
        self._written = write_concept_vectors(tx, self._plan, batch)
        return len(self._written)

    def reject(self, tx: Transaction, item: ConceptText, reason: str) -> None:
        """Mark a concept that the model does not take."""
        plan, texts = self._plan, {"identity": item.concept_id, "text_hash": item.text_hash}
        reject(tx, plan.space.at(""), plan.mark, **texts, reason=reason)

    def characters(self, items: Sequence[ConceptText]) -> int:
        """How long their texts are together."""
        return sum(len(each.text) for each in items)

    def committed(self) -> None:
        """Merge what was written with what is the same."""
        self._merge(self._written)

    def resume(self, place: str, limit: int) -> None:
        """Merge the last batch: a worker may have died before it did."""
        self._merge(concepts_before(self._graph, self._plan, place, limit))


def fitting(embedder: Embedder, text: str) -> str:
    """As much of a text as the model takes: a label stands at its beginning."""
    spans = embedder.spans(text)
    return text[: spans[0][1]] if spans else text
