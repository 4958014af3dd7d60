"""The ways to pictures that are like one: by vectors of each space of pictures; else by words and looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kg_api.errors import DatabaseUnavailable, InvalidInput, NotFound, Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.images.reads import having_images
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.passages import Filters
from kg_api.graph.search.pictures import NearestPictures, hashes_of
from kg_api.graph.search.similar import vectors_of
from kg_api.graph.spaces.registry import Space
from kg_api.models.pictures.search import ImageThrough
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import ImageLane
from kg_api.similarity.images.asked import AskedPicture
from kg_api.similarity.images.looks import look_alike
from kg_api.similarity.parts import evenly
from kg_api.similarity.related.lanes import RelatedQuery, near_vectors
from kg_api.similarity.scope import comparable, under_way
from kg_api.spaces.images.sharing import group_by_space
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import OntologySnapshot

MAX_HASHED = 100_000
"""Pictures whose looks are compared one by one."""
MAX_TOLD = 10
UNSEEN = (*FAULTS, InvalidInput, NotFound, Unavailable)
"""Why a picture has no vector: by its model, or because its file is lost or cannot be had now."""
MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class ImageLaneFound:
    """What was found in one way."""

    name: ImageLane
    found: dict[str, ImageThrough]
    """By source, the best first."""
    space: str | None = None

    def at_least(self, similarity: float | None) -> ImageLaneFound:
        """Without what is less similar, where it is measured by a space of pictures."""
        if similarity is None or self.name != "picture_space":
            return self
        kept = {each: way for each, way in self.found.items() if (way.similarity or 0) >= similarity}
        return replace(self, found=kept)


@dataclass(slots=True)
class LanesFound:
    """All of them, and what could not be done."""

    found: list[ImageLaneFound] = field(default_factory=list[ImageLaneFound])
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    without: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Ontologies whose pictures were not compared by vectors, by the reason."""
    hashes: dict[str, int] = field(default_factory=dict[str, int])
    """How pictures look that have no vector, by source."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where to look."""

    known: OntologySnapshot
    filters: Filters
    depth: int


class ImageLanes:
    """Asks them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._indexes = IndexWatch(graph)
        self._progress = EmbeddingWatch(graph, "image_embedding")

    def find(
        self,
        picture: AskedPicture,
        known: OntologySnapshot,
        names: Sequence[str],
        filters: Filters,
        depth: int,
    ) -> LanesFound:
        """What is like a picture, in some ontologies, of what a filter chose there."""
        scope, lanes = _Scope(known, filters, depth), LanesFound()
        if filters.image is False:
            return lanes
        there = having_images(self._graph, names) if names else []
        spaces = known.image_spaces
        if blind := [name for name in there if name not in spaces]:
            lanes.without["they have no space of pictures"] = blind
        for space, own in group_by_space(there, spaces):
            self._by_vector(picture, scope, space, own, lanes)
        self._otherwise(picture, scope, lanes)
        return lanes

    def _by_vector(
        self, picture: AskedPicture, scope: _Scope, space: Space, names: Sequence[str], lanes: LanesFound
    ) -> None:
        if waiting := self._indexes.populating(space.image_index_name):
            reason = f"the index {space.image_index_name} is {waiting[space.image_index_name]}"
            lanes.without.setdefault(reason, []).extend(names)
            return
        try:
            vector = picture.vector_in(space)
        except DatabaseUnavailable:
            raise
        except UNSEEN as error:
            reason = f"the picture could not be embedded in the space {space.slug!r} ({error})"
            lanes.without.setdefault(reason, []).extend(names)
            return
        filters = scope.filters
        nearest = NearestPictures(
            vector, space, names, filters.document_ids, scope.depth + 1, sources=filters.sources
        )
        (rows,) = self._graph.look_up([nearest.lookup])
        measured = [(hit.source.source_id, hit.score) for hit in nearest.hits(self._graph, rows).found]
        found = _ranked("picture_space", _without(picture, measured), space.slug)
        if measured:
            lanes.found.append(ImageLaneFound("picture_space", found, space.slug))
            self._note_under_way(scope, space, names, lanes)
        elif hashes_of(self._graph, names, filters, limit=1):
            reason = f"no picture there has a vector in the space {space.slug!r} yet"
            lanes.without.setdefault(reason, []).extend(names)

    def _note_under_way(self, scope: _Scope, space: Space, names: Sequence[str], lanes: LanesFound) -> None:
        """Some have a vector already; the others are compared by their looks."""
        progress = self._progress.read()
        waiting = [name for name in names if name in progress]
        if waiting and (left := hashes_of(self._graph, waiting, scope.filters, MAX_HASHED, without=space)):
            lanes.hashes |= left
            lanes.degraded += under_way(progress, waiting, "are compared by their looks")

    def _otherwise(self, picture: AskedPicture, scope: _Scope, lanes: LanesFound) -> None:
        """By looks, and a stored picture by its words."""
        if names := [name for each in lanes.without.values() for name in each]:
            lanes.hashes |= hashes_of(self._graph, names, scope.filters, MAX_HASHED)
        alike = _without(picture, [(each, None) for each in look_alike(picture.looks, lanes.hashes)])
        if names or alike:
            found = _ranked("perceptual_hash", alike[: scope.depth])
            lanes.found.append(ImageLaneFound("perceptual_hash", found))
        how = "those that look nearly the same were looked for"
        if names and picture.own is not None:
            lanes.found.append(self._by_words(picture, scope, names))
            how += ", and those whose words are near"
        for reason, own in lanes.without.items():
            told = ", ".join(own[:MAX_TOLD]) + (" and more" if len(own) > MAX_TOLD else "")
            lanes.degraded.append(Degradation(part="vectors", effect=f"{told}: {reason}; {how}"))
        if len(lanes.hashes) >= MAX_HASHED:
            effect = f"the looks of {MAX_HASHED:,} pictures were compared, there are more"
            lanes.degraded.append(Degradation(part="query", effect=effect))

    def _by_words(self, picture: AskedPicture, scope: _Scope, names: Sequence[str]) -> ImageLaneFound:
        own = picture.own
        if own is None:
            return ImageLaneFound("words", {})
        known = scope.known
        parts = vectors_of(self._graph, [own.source_id], known.answering, known.new).get(own.source_id, [])
        sources = scope.filters.sources.of_kinds(["image"])
        within = Filters(names, scope.filters.document_ids, sources)
        asked = RelatedQuery(own, within, scope.depth)
        slots = comparable(known.space_of(own.ontology), names, known).slots
        near = near_vectors(self._graph, asked, evenly(parts, MAX_PARTS), slots, "words")
        found = {
            each: ImageThrough(lane="words", rank=way.rank, similarity=way.similarity, space=way.space)
            for each, way in near.items()
        }
        return ImageLaneFound("words", found)


Measured = list[tuple[str, float | None]]
"""Sources, the best first, with their similarity where there is one."""


def _without(picture: AskedPicture, found: Sequence[tuple[str, float | None]]) -> Measured:
    """All but the picture itself."""
    own = None if picture.own is None else picture.own.source_id
    return [each for each in found if each[0] != own]


def _ranked(lane: ImageLane, found: Measured, space: str | None = None) -> dict[str, ImageThrough]:
    return {
        identity: ImageThrough(lane=lane, rank=rank, similarity=similarity, space=space)
        for rank, (identity, similarity) in enumerate(found, start=1)
    }
