"""What a search shows or compares of its hits, read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kg_api.graph.database import Graph
from kg_api.graph.search.similar import places_of
from kg_api.models.queries.places import DescribedPlace
from kg_api.search.rank.duplicates import Phrase, group_alike, phrases_of
from kg_api.search.retrieve.hits import Hit


class PlaceReader:
    """Reads sources, each once. One a search: lanes bring ids and scores, and few hits are ever shown."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, DescribedPlace] = {}
        self._phrases: dict[str, frozenset[Phrase]] = {}
        self._alike: dict[tuple[str, ...], list[list[int]]] = {}

    def read(self, source_ids: Iterable[str]) -> Mapping[str, DescribedPlace]:
        """Give all that were read, by id; one that was deleted since it was found is missing."""
        unknown = [each for each in dict.fromkeys(source_ids) if each not in self._known]
        if unknown:
            self._known.update((place.source_id, place) for place in places_of(self._graph, unknown))
        return self._known

    def __getitem__(self, source_id: str) -> DescribedPlace:
        return self._known[source_id]

    def there(self, hits: Iterable[Hit]) -> list[Hit]:
        """Read the sources of hits; give those hits whose source was not deleted since they were found."""
        hits = list(hits)
        known = self.read(hit.found.source.source_id for hit in hits)
        return [hit for hit in hits if hit.found.source.source_id in known]

    def alike(self, source_ids: Sequence[str]) -> list[list[int]]:
        """Groups of near-duplicates among sources that were read; what was compared once is known.

        Lanes may be asked several times, deeper each time, and what they found is thinned out in the end.
        """
        asked = tuple(source_ids)
        if asked not in self._alike:
            self._alike[asked] = group_alike([self._phrases_of(each) for each in asked])
        return self._alike[asked]

    def _phrases_of(self, source_id: str) -> frozenset[Phrase]:
        if source_id not in self._phrases:
            self._phrases[source_id] = phrases_of(self._known[source_id].full_text)
        return self._phrases[source_id]
