"""What a search shows or compares of its hits, read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kg_api.graph.database import Graph
from kg_api.graph.search.similar import places_of
from kg_api.models.queries.search import Place


class PlaceReader:
    """Reads sources, each once. One a search: lanes bring ids and scores, and few hits are ever shown."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, Place] = {}

    def read(self, source_ids: Iterable[str]) -> Mapping[str, Place]:
        """Give all that were read, by id; one that was deleted since it was found is missing."""
        unknown = [each for each in dict.fromkeys(source_ids) if each not in self._known]
        if unknown:
            self._known.update((place.source_id, place) for place in places_of(self._graph, unknown))
        return self._known
