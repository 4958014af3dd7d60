"""The question's vectors in spaces of pictures whose models read text: words find what pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.images.reads import having_images
from kg_api.graph.readiness import IndexWatch
from kg_api.graph.search.passages import Filters
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import Degradation, SourceSearch
from kg_api.search.plan.scope import Scope
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.images.sharing import group_by_space
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import OntologySnapshot


@dataclass(frozen=True, slots=True)
class PictureVector:
    """A question's vector in one space of pictures, or why there is none."""

    space: Space
    ontologies: Sequence[str]
    """Those whose pictures it answers for."""
    vector: NDArray[np.float32] | None = None
    """Shape (dimensions,), length 1."""
    fault: str | None = None
    """Why there is none."""

    @property
    def degradation(self) -> Degradation | None:
        if self.fault is None:
            return None
        where = f"the space of pictures {self.space.slug!r}"
        effect = f"{where} was not searched ({self.fault}): its pictures are found by their words only"
        return Degradation(part="embedding", effect=effect)


class PictureQuestions:
    """Embeds questions for pictures, where there are any and a model reads text; else it does nothing."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None, indexes: IndexWatch) -> None:
        self._graph = graph
        self._images = images
        self._indexes = indexes

    def spaces(
        self, request: SourceSearch, known: OntologySnapshot, scope: Scope, filters: Filters
    ) -> list[tuple[Space, list[str]]]:
        """The spaces that words can be looked for in, with their ontologies."""
        if self._images is None or not request.query_text or request.mode == "text":
            return []
        return [] if filters.image is False else self.reading(scope.names, known)

    def reading(self, names: Sequence[str], known: OntologySnapshot) -> list[tuple[Space, list[str]]]:
        """The spaces of some ontologies' pictures whose models read text, with the ontologies."""
        answering = known.image_spaces
        reading = [name for name in names if name in answering and reads_text(answering[name])]
        return group_by_space(having_images(self._graph, reading) if reading else (), answering)

    def embed(self, text: str, spaces: Sequence[tuple[Space, list[str]]]) -> list[PictureVector]:
        """The vector of a question in each of some spaces."""
        images = self._images
        return [] if images is None else [self._embed(images, text, *each) for each in spaces]

    def _embed(
        self, images: ImageSpaceRegistry, text: str, space: Space, names: Sequence[str]
    ) -> PictureVector:
        if waiting := self._indexes.populating(space.image_index_name):
            state = waiting[space.image_index_name]
            return PictureVector(space, names, fault=f"the index {space.image_index_name} is {state}")
        try:
            return PictureVector(space, names, images.of(space).embed_query(text))
        except (*FAULTS, InvalidInput) as error:
            return PictureVector(space, names, fault=str(error))


def reads_text(space: Space) -> bool:
    """Whether a space's model has a text tower; told by its identity, so that no model is opened for it."""
    return space.identity.max_tokens > 0
