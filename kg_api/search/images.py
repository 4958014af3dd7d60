"""Image search using a text, a stored image, or a file that you upload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.search import fuse_by_reciprocal_rank
from kg_api.errors import DatabaseUnavailable, InvalidInput, NotFound, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.filters import SourceFilter
from kg_api.graph.images import list_ontologies_with_images
from kg_api.graph.library import find_source
from kg_api.graph.search import Filters
from kg_api.graph.similar import NearestPictures, describe_places, read_source_vectors
from kg_api.graph.spaces import Space
from kg_api.schemas.image_search import ImageHit, ImageHits, ImageScope, ImageSearch, ImageThrough
from kg_api.schemas.images import ReadImage
from kg_api.schemas.search import Degradation, DescribedPlace, ImageFacts, LanePart, Place, SourceSearch
from kg_api.schemas.vocabulary import ImageLane as LaneName
from kg_api.search.notes import Stopwatch, describe_embedding_progress
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

    def __init__(self, images: ImageSpaceRegistry, content: Callable[[], bytes]) -> None:
        self._images = images
        self._content = content

    @property
    def own(self) -> Place | None:
        """Location, if the image is stored. None: uploaded."""
        return None

    def get_vector(self, space: Space) -> NDArray[np.float32]:
        """Get the vector in an image space.

        Raises:
            ConfigurationError, EmbeddingUnavailable, EmbeddingFailed: The model is unavailable.
            InvalidInput: The model rejects the image, or its file is unreadable.
        """
        opened = self._images.get_open(space)
        return opened.embed_pixels([self._images.render(opened, self._content())])[0]


class StoredPicture(QueryImage):
    """Stored image to use as a query. Its vectors are used again."""

    def __init__(
        self,
        images: ImageSpaceRegistry,
        place: Place,
        image: ImageFacts,
        *,
        graph: Graph,
        read_blob: Callable[[str], bytes],
    ) -> None:
        super().__init__(images, lambda: read_blob(image.storage_key))
        self._place = place
        self._graph = graph

    @property
    def own(self) -> Place:
        return self._place

    def get_vector(self, space: Space) -> NDArray[np.float32]:
        """Get the stored vector. If there is none, embed the image as in `QueryImage`."""
        parts = read_source_vectors(self._graph, self._place.source_id, space)
        return parts[0].vector if parts else super().get_vector(space)


# Image retrievers: by vectors in each image space

MAX_TOLD = 10
UNSEEN = (*FAULTS, InvalidInput, NotFound, Unavailable)
"""Errors from the model or from a missing file, if an image has no vector."""


@dataclass(frozen=True, slots=True)
class ImageLane:
    """Results from an image space."""

    space: Space
    found: dict[str, ImageThrough]  # by source, best first


@dataclass(slots=True)
class LanesFound:
    """Results from all image spaces, and what was not possible."""

    found: list[ImageLane] = field(default_factory=list[ImageLane])
    degraded: list[Degradation] = field(default_factory=list[Degradation])

    def leave_out(self, names: Sequence[str], reason: str) -> None:
        named = ", ".join(names[:MAX_TOLD]) + (" and more" if len(names) > MAX_TOLD else "")
        self.degraded.append(
            Degradation(part="vectors", effect=f"{named}: {reason}. No images were compared")
        )


class ImageLanes:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._snapshots = get_snapshots(graph)
        self._progress = self._snapshots.get_progress("image_embedding")

    def find(
        self, picture: QueryImage, known: OntologySnapshot, names: Sequence[str], filters: Filters, depth: int
    ) -> LanesFound:
        lanes = LanesFound()
        if filters.image is False:
            return lanes
        there = list_ontologies_with_images(self._graph, names) if names else []
        spaces = known.image_spaces
        if blind := [name for name in there if name not in spaces]:
            lanes.leave_out(blind, "they have no image space")
        for space, own in group_by_space(there, spaces):
            self._search_by_vector(picture, filters, depth, (space, own), lanes)
            states = known.embedding_states
            settled = [each for each in own if states[each].configured.images.serving is None]
            lanes.degraded += describe_embedding_progress(self._progress.get(), settled)
        return lanes

    def _search_by_vector(
        self,
        picture: QueryImage,
        filters: Filters,
        depth: int,
        among: tuple[Space, Sequence[str]],
        lanes: LanesFound,
    ) -> None:
        space, names = among
        if waiting := self._snapshots.read_populating(space.image_index_name):
            lanes.leave_out(names, f"the index {space.image_index_name} is {waiting[space.image_index_name]}")
            return
        try:
            vector = picture.get_vector(space)
        except DatabaseUnavailable:
            raise
        except UNSEEN as error:
            lanes.leave_out(names, f"the image could not be embedded in the space {space.slug!r} ({error})")
            return
        nearest = NearestPictures(
            vector, space, names, filters.document_ids, depth + 1, sources=filters.sources
        )
        (rows,) = self._graph.look_up([nearest.lookup])
        own = None if picture.own is None else picture.own.source_id
        measured = [hit for hit in nearest.hits(self._graph, rows).found if hit.source.source_id != own]
        found = {
            hit.source.source_id: ImageThrough(
                lane="picture_space", rank=rank, similarity=hit.score, space=space.slug
            )
            for rank, hit in enumerate(measured, start=1)
        }
        lanes.found.append(ImageLane(space, found))
        if not rows and filters.document_ids is None and filters.sources == SourceFilter():
            lanes.leave_out(names, f"no image has a vector in the space {space.slug!r} yet")


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
    seen: list[LaneName] = ["picture_space"] if found.picture_spaces else []
    return ImageHits(
        query_text=request.query_text,
        by=[*seen, "words", "concepts"],
        spaces=found.picture_spaces,
        images=[
            ImageHit(
                **hit.model_dump(include=_PLACE),
                score=hit.score,
                through=[_describe_lane(each) for each in (hit.explanation.lanes if hit.explanation else ())],
            )
            for hit in found.sources
        ],
        note=found.note,
        degraded=found.degraded,
        timings_ms=found.timings_ms,
    )


def _describe_lane(part: LanePart) -> ImageThrough:
    if part.lane in {TEXT, CONCEPTS}:
        return ImageThrough(lane="words" if part.lane == TEXT else "concepts", rank=part.rank)
    seen = part.lane.startswith(PICTURES)
    space = part.lane.removeprefix(PICTURES if seen else VECTOR)
    lane: LaneName = "picture_space" if seen else "words"
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
        return self._find_similar(
            StoredPicture(self._images, own, own.image, graph=self._graph, read_blob=self._read_blob), request
        )

    def search_like(self, content: bytes, request: ImageScope) -> ImageHits:
        """Find images that are similar to a file that you upload.

        Raises:
            UnreadableDocument: The file is not a supported image.
            TooBusy: Too many files are being read.
            InvalidInput: A filter is invalid.
        """
        self._reader.read_image(content)  # reject an invalid file even if there are no images
        return self._find_similar(QueryImage(self._images, lambda: content), request)

    def _find_similar(self, picture: QueryImage, request: ImageScope) -> ImageHits:
        watch = Stopwatch("images")
        known = self._snapshots.get(request.ontologies or (), fresh=bool(request.documents))
        names = known.keep_existing(request.ontologies)
        known.require_known(request.ontologies)
        with watch.stage("filter") if request.documents or request.where else nullcontext():
            chosen = choose(self._graph, self._remembered, request, names)
        depth = max(DEPTH, 3 * request.limit)
        with watch.stage("pictures"):
            lanes = self._lanes.find(picture, known, names, chosen.filters, depth)
        return ImageHits(
            source=picture.own,
            by=["picture_space"] if lanes.found else [],
            spaces=[lane.space.slug for lane in lanes.found],
            images=self._join(lanes.found, request),
            note=_note_less_similar(lanes.found, request.min_similarity),
            degraded=[*chosen.notes, *lanes.degraded],
            timings_ms=watch.get_milliseconds(),
        )

    def _join(self, lanes: Sequence[ImageLane], request: ImageScope) -> list[ImageHit]:
        """Fuse by rank, because you cannot compare cosines from different spaces."""
        least = -1.0 if request.min_similarity is None else request.min_similarity
        kept = [
            {each: way for each, way in lane.found.items() if (way.similarity or 0) >= least}
            for lane in lanes
        ]
        scores = fuse_by_reciprocal_rank([*found] for found in kept)
        best = [*scores.items()][: 2 * request.limit]  # spare hits replace deleted images
        places = {
            place.source_id: place for place in describe_places(self._graph, [each for each, _ in best])
        }
        return [
            ImageHit(
                **places[identity].model_dump(),
                score=score,
                through=[found[identity] for found in kept if identity in found],
            )
            for identity, score in best
            if identity in places and places[identity].image is not None
        ][: request.limit]


def _note_less_similar(lanes: Sequence[ImageLane], least: float | None) -> str | None:
    """Add a note if the similarity threshold has dropped all images."""
    measured = [way.similarity or 0.0 for lane in lanes for way in lane.found.values()]
    if least is None or not measured or max(measured) >= least:
        return None
    return f"no image has a similarity of {least:g} or more. The nearest has {max(measured):.2f}"
