"""Image search using a text, a stored image, or a file that you upload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.search import fuse_by_reciprocal_rank
from kg_api.errors import DatabaseUnavailable, InvalidInput, NotFound, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.images import list_ontologies_with_images
from kg_api.graph.library import find_source
from kg_api.graph.search import Filters
from kg_api.graph.similar import (
    NearestPictures,
    describe_places,
    read_image_hashes,
    read_search_vectors,
    read_source_vectors,
)
from kg_api.graph.spaces import Space
from kg_api.schemas.image_search import ImageHit, ImageHits, ImageScope, ImageSearch, ImageThrough
from kg_api.schemas.images import ReadImage
from kg_api.schemas.search import (
    Degradation,
    DescribedPlace,
    ImageFacts,
    LanePart,
    Place,
    SourceHit,
    SourceSearch,
)
from kg_api.schemas.vocabulary import ImageLane
from kg_api.search.near import comparable, describe_embedding_progress, sample_evenly
from kg_api.search.notes import Stopwatch
from kg_api.search.related import RelatedQuery, find_near_vectors
from kg_api.search.retrieve import CONCEPTS, PICTURES, TEXT, VECTOR
from kg_api.search.scope import choose
from kg_api.search.service import SearchService
from kg_api.spaces.images import ImageSpaceRegistry, group_by_space
from kg_api.spaces.open_spaces import FAULTS
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots

# Query images


class ImageLooker(Protocol):
    """Reads images in separate processes."""

    def read_image(self, data: bytes, /) -> ReadImage: ...


class QueryImage:
    """Image to use as a query. It is decoded in separate processes only."""

    def __init__(self, images: ImageSpaceRegistry, reader: ImageLooker, content: Callable[[], bytes]) -> None:
        self._images = images
        self._reader = reader
        self._content = content

    @property
    def own(self) -> Place | None:
        """Location, if the image is stored. None: uploaded."""
        return None

    @cached_property
    def looks(self) -> int:
        """Perceptual hash to compare images.

        Raises:
            UnreadableDocument: The file is not a supported image.
            TooBusy: Too many files are being read.
        """
        return int(self._reader.read_image(self._content()).perceptual_hash, 16)

    def get_vector(self, space: Space) -> NDArray[np.float32]:
        """Get the vector in an image space.

        Raises:
            ConfigurationError, EmbeddingUnavailable, EmbeddingFailed: The model is unavailable.
            InvalidInput: The model rejects the image, or its file is unreadable.
        """
        opened = self._images.of(space)
        return opened.embed_pixels([self._images.render(opened, self._content())])[0]


class StoredPicture(QueryImage):
    """Stored image to use as a query. Its vectors are used again."""

    def __init__(
        self,
        images: ImageSpaceRegistry,
        reader: ImageLooker,
        place: Place,
        image: ImageFacts,
        *,
        graph: Graph,
        read_blob: Callable[[str], bytes],
    ) -> None:
        super().__init__(images, reader, lambda: read_blob(image.storage_key))
        self._place = place
        self._image = image
        self._graph = graph

    @property
    def own(self) -> Place:
        return self._place

    @cached_property
    def looks(self) -> int:
        return int(self._image.perceptual_hash, 16)

    def get_vector(self, space: Space) -> NDArray[np.float32]:
        """Get the stored vector. If there is none, embed the image as in `QueryImage`."""
        parts = read_source_vectors(self._graph, self._place.source_id, space)
        return parts[0].vector if parts else super().get_vector(space)


# Perceptual hashes with 64 bits

MAX_BITS: Final = 6
"""Maximum number of bits that can be different in a copy. For other images, this is about 32."""


def differing_bits(one: int, other: int) -> int:
    """Count the bits that are different in two hashes."""
    return (one ^ other).bit_count()


def look_alike(own: int, hashes: Mapping[str, int]) -> list[str]:
    """List images that look the same, the most similar first."""
    bits = {each: differing_bits(own, other) for each, other in hashes.items()}
    return sorted((each for each in bits if bits[each] <= MAX_BITS), key=lambda each: (bits[each], each))


# Image retrievers: by vectors in each image space, otherwise by text and perceptual hash

MAX_HASHED = 100_000  # images whose hashes are compared
MAX_TOLD = 10
UNSEEN = (*FAULTS, InvalidInput, NotFound, Unavailable)
"""Errors from the model or from a missing file, if an image has no vector."""
MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class ImageLaneFound:
    """Results from an image retriever."""

    name: ImageLane
    found: dict[str, ImageThrough]  # by source, best first
    space: str | None = None

    def filter_by_similarity(self, similarity: float | None) -> ImageLaneFound:
        """Keep results from a similarity on, if this can be measured in an image space."""
        if similarity is None or self.name != "picture_space":
            return self
        kept = {each: way for each, way in self.found.items() if (way.similarity or 0) >= similarity}
        return replace(self, found=kept)


@dataclass(slots=True)
class LanesFound:
    """Results from all image retrievers, and what was not possible."""

    found: list[ImageLaneFound] = field(default_factory=list[ImageLaneFound])
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    without: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Ontologies that cannot be searched by vector, by reason."""
    hashes: dict[str, int] = field(default_factory=dict[str, int])
    """Hashes for images that have no vectors, by source."""


@dataclass(frozen=True, slots=True)
class _Scope:
    known: OntologySnapshot
    filters: Filters
    depth: int


class ImageLanes:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._snapshots = get_snapshots(graph)
        self._progress = self._snapshots.progress("image_embedding")

    def find(
        self,
        picture: QueryImage,
        known: OntologySnapshot,
        names: Sequence[str],
        filters: Filters,
        depth: int,
    ) -> LanesFound:
        scope, lanes = _Scope(known, filters, depth), LanesFound()
        if filters.image is False:
            return lanes
        there = list_ontologies_with_images(self._graph, names) if names else []
        spaces = known.image_spaces
        if blind := [name for name in there if name not in spaces]:
            lanes.without["they have no image space"] = blind
        for space, own in group_by_space(there, spaces):
            self._by_vector(picture, scope, space, own, lanes)
        self._otherwise(picture, scope, lanes)
        return lanes

    def _by_vector(
        self, picture: QueryImage, scope: _Scope, space: Space, names: Sequence[str], lanes: LanesFound
    ) -> None:
        if waiting := self._snapshots.populating(space.image_index_name):
            reason = f"the index {space.image_index_name} is {waiting[space.image_index_name]}"
            lanes.without.setdefault(reason, []).extend(names)
            return
        try:
            vector = picture.get_vector(space)
        except DatabaseUnavailable:
            raise
        except UNSEEN as error:
            reason = f"the image could not be embedded in the space {space.slug!r} ({error})"
            lanes.without.setdefault(reason, []).extend(names)
            return
        filters = scope.filters
        nearest = NearestPictures(
            vector, space, names, filters.document_ids, scope.depth + 1, sources=filters.sources
        )
        (rows,) = self._graph.look_up([nearest.lookup])
        measured = [(hit.source.source_id, hit.score) for hit in nearest.hits(self._graph, rows).found]
        found = _ranked("picture_space", _exclude_query_image(picture, measured), space.slug)
        if measured:
            lanes.found.append(ImageLaneFound("picture_space", found, space.slug))
            self._note_under_way(scope, space, names, lanes)
        elif read_image_hashes(self._graph, names, filters, limit=1):
            reason = f"no image in these ontologies has a vector in the space {space.slug!r} yet"
            lanes.without.setdefault(reason, []).extend(names)

    def _note_under_way(self, scope: _Scope, space: Space, names: Sequence[str], lanes: LanesFound) -> None:
        """Report how many images are embedded, and use hashes to compare those that are pending."""
        progress = self._progress.recent()
        waiting = [name for name in names if name in progress]
        if waiting and (
            left := read_image_hashes(self._graph, waiting, scope.filters, MAX_HASHED, without=space)
        ):
            lanes.hashes |= left
            lanes.degraded += describe_embedding_progress(progress, waiting, "are compared by their looks")

    def _otherwise(self, picture: QueryImage, scope: _Scope, lanes: LanesFound) -> None:
        """Add results using the perceptual hash, and the text if the image is stored."""
        if names := [name for each in lanes.without.values() for name in each]:
            lanes.hashes |= read_image_hashes(self._graph, names, scope.filters, MAX_HASHED)
        alike = _exclude_query_image(
            picture, [(each, None) for each in look_alike(picture.looks, lanes.hashes)]
        )
        if names or alike:
            found = _ranked("perceptual_hash", alike[: scope.depth])
            lanes.found.append(ImageLaneFound("perceptual_hash", found))
        how = "kg searched for images that are almost the same"
        if names and picture.own is not None:
            lanes.found.append(self._by_words(picture, scope, names))
            how += ", and images with similar text"
        for reason, own in lanes.without.items():
            named = ", ".join(own[:MAX_TOLD]) + (" and more" if len(own) > MAX_TOLD else "")
            lanes.degraded.append(Degradation(part="vectors", effect=f"{named}: {reason}. {how}"))
        if len(lanes.hashes) >= MAX_HASHED:
            effect = f"kg compared {MAX_HASHED:,} images by appearance. There are more"
            lanes.degraded.append(Degradation(part="query", effect=effect))

    def _by_words(self, picture: QueryImage, scope: _Scope, names: Sequence[str]) -> ImageLaneFound:
        own = picture.own
        if own is None:
            return ImageLaneFound("words", {})
        known = scope.known
        parts = read_search_vectors(self._graph, [own.source_id], known.answering, known.new).get(
            own.source_id, []
        )
        sources = scope.filters.sources.restrict_to_kinds(["image"])
        within = Filters(names, scope.filters.document_ids, sources)
        query = RelatedQuery(own, within, scope.depth)
        slots = comparable(known.space_of(own.ontology), names, known).slots
        near = find_near_vectors(self._graph, query, sample_evenly(parts, MAX_PARTS), slots, "words")
        found = {
            each: ImageThrough(lane="words", rank=way.rank, similarity=way.similarity, space=way.space)
            for each, way in near.items()
        }
        return ImageLaneFound("words", found)


Measured = list[tuple[str, float | None]]
"""Sources, best first, with the similarity if it is known."""


def _exclude_query_image(picture: QueryImage, found: Sequence[tuple[str, float | None]]) -> Measured:
    """Remove the query image from the results."""
    own = None if picture.own is None else picture.own.source_id
    return [each for each in found if each[0] != own]


def _ranked(lane: ImageLane, found: Measured, space: str | None = None) -> dict[str, ImageThrough]:
    return {
        identity: ImageThrough(lane=lane, rank=rank, similarity=similarity, space=space)
        for rank, (identity, similarity) in enumerate(found, start=1)
    }


# Image search by text: a source search limited to images

_PLACE: Final = set(DescribedPlace.model_fields)
_SAME: Final = {"query_text", "ontology", "documents", "where", "limit", "min_similarity"}


def find_images_by_text(search: SearchService, request: ImageSearch) -> ImageHits:
    """Find images by text and concepts, and by content if there is a model to embed text.

    Raises:
        As `SearchService.search`.
    """
    fields = request.model_dump(include=_SAME)
    found = search.search(SourceSearch(**fields, kinds=["image"], concepts=True, explain=True))
    seen: list[ImageLane] = ["picture_space"] if found.picture_spaces else []
    return ImageHits(
        query_text=request.query_text,
        by=[*seen, "words", "concepts"],
        spaces=found.picture_spaces,
        images=[_found(each) for each in found.sources],
        note=found.note,
        degraded=found.degraded,
        timings_ms=found.timings_ms,
    )


def _found(hit: SourceHit) -> ImageHit:
    parts = hit.explanation.lanes if hit.explanation else []
    return ImageHit(
        **hit.model_dump(include=_PLACE), score=hit.score, through=[_describe_lane(each) for each in parts]
    )


def _describe_lane(part: LanePart) -> ImageThrough:
    if part.lane in {TEXT, CONCEPTS}:
        return ImageThrough(lane="words" if part.lane == TEXT else "concepts", rank=part.rank)
    seen = part.lane.startswith(PICTURES)
    space = part.lane.removeprefix(PICTURES if seen else VECTOR)
    lane: ImageLane = "picture_space" if seen else "words"
    return ImageThrough(lane=lane, rank=part.rank, similarity=part.score, space=space)


# Service

DEPTH = 50  # minimum results per retriever


class ImageSearchService:
    """Finds images. Thread-safe."""

    def __init__(
        self,
        graph: Graph,
        search: SearchService,
        images: ImageSpaceRegistry,
        reader: ImageLooker,
        read_blob: Callable[[str], bytes],
    ) -> None:
        """Use `read_blob` to get the file for a storage key."""
        self._graph = graph
        self._search = search
        self._images = images
        self._reader = reader
        self._read_blob = read_blob
        self._snapshots = get_snapshots(graph)
        self._remembered = self._snapshots.filters
        self._lanes = ImageLanes(graph)

    def search(self, request: ImageSearch) -> ImageHits:
        """Find images using a text or a stored image.

        Raises:
            NotFound: The source does not exist.
            InvalidInput: The source is a passage, or a filter is invalid.
        """
        if request.source_id is None:
            return find_images_by_text(self._search, request)
        own = find_source(self._graph, request.source_id)
        if own.image is None:
            raise InvalidInput(
                f"{request.source_id[:200]!r} is a passage of text, not an image. For images related "
                "to it, use POST /queries/sources/ID/related (kg images related ID)"
            )
        picture = StoredPicture(
            self._images, self._reader, own, own.image, graph=self._graph, read_blob=self._read_blob
        )
        return self._like(picture, request)

    def search_like(self, content: bytes, request: ImageScope) -> ImageHits:
        """Find images that are similar to a file that you upload.

        Raises:
            UnreadableDocument: The file is not a supported image.
            TooBusy: Too many files are being read.
            InvalidInput: A filter is invalid.
        """
        picture = QueryImage(self._images, self._reader, lambda: content)
        _ = picture.looks  # reject an invalid file even if there are no images
        return self._like(picture, request)

    def _like(self, picture: QueryImage, request: ImageScope) -> ImageHits:
        watch = Stopwatch("images")
        known = self._snapshots.known(request.ontologies or (), fresh=bool(request.documents))
        names = known.there(request.ontologies)
        known.require_known(request.ontologies)
        with watch.stage("filter") if request.documents or request.where else nullcontext():
            chosen = choose(self._graph, self._remembered, request, names)
        depth = max(DEPTH, 3 * request.limit)
        with watch.stage("pictures"):
            lanes = self._lanes.find(picture, known, names, chosen.filters, depth)
        by: list[ImageLane] = [*dict.fromkeys(lane.name for lane in lanes.found)]
        return ImageHits(
            source=picture.own,
            by=by,
            spaces=[lane.space for lane in lanes.found if lane.space and lane.name == "picture_space"],
            images=self._join(picture, lanes.found, request),
            note=_note_less_similar(lanes.found, request.min_similarity),
            degraded=[*chosen.notes, *lanes.degraded, *_not_measured(by, request)],
            timings_ms=watch.milliseconds(),
        )

    def _join(
        self, picture: QueryImage, lanes: Sequence[ImageLaneFound], request: ImageScope
    ) -> list[ImageHit]:
        """Fuse by rank, because you cannot compare cosines from different spaces."""
        kept = [lane.filter_by_similarity(request.min_similarity) for lane in lanes]
        scores = fuse_by_reciprocal_rank([*lane.found] for lane in kept)
        best = [*scores.items()][: 2 * request.limit]  # spare hits replace deleted images
        places = {
            place.source_id: place for place in describe_places(self._graph, [each for each, _ in best])
        }
        images: list[ImageHit] = []
        for identity, score in best:
            place = places.get(identity)
            if place is None or place.image is None:
                continue
            bits = differing_bits(picture.looks, int(place.image.perceptual_hash, 16))
            images.append(
                ImageHit(
                    **place.model_dump(),
                    score=score,
                    through=[lane.found[identity] for lane in kept if identity in lane.found],
                    differing_bits=bits,
                    near_duplicate=bits <= MAX_BITS,
                )
            )
        return images[: request.limit]


def _note_less_similar(lanes: Sequence[ImageLaneFound], least: float | None) -> str | None:
    """Add a note if the similarity threshold has dropped all images that were measured."""
    measured = [
        way.similarity or 0.0 for lane in lanes if lane.name == "picture_space" for way in lane.found.values()
    ]
    if least is None or not measured or max(measured) >= least:
        return None
    return f"no image has a similarity of {least:g} or more. The nearest has {max(measured):.2f}"


def _not_measured(by: Sequence[ImageLane], request: ImageScope) -> list[Degradation]:
    if request.min_similarity is None or not {*by} - {"picture_space"}:
        return []
    effect = (
        "min_similarity was not applied to hits by text or appearance, because it needs vectors of images"
    )
    return [Degradation(part="query", effect=effect)]
