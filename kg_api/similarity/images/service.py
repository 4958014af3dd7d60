"""Searching for pictures by words, by a picture that is stored, and by one that is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from kg_api.concepts.ranks import reciprocal_rank_fusion
from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_source
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.search.similar import places_of
from kg_api.models.pictures.search import ImageHit, ImageHits, ImageScope, ImageSearch
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import ImageLane
from kg_api.search.plan.chosen import choose
from kg_api.search.service import SearchService
from kg_api.search.timing import Stopwatch
from kg_api.similarity.images.asked import AskedPicture, ImageLooker, StoredPicture
from kg_api.similarity.images.lanes import ImageLaneFound, ImageLanes
from kg_api.similarity.images.looks import MAX_BITS, differing_bits
from kg_api.similarity.images.words import images_by_words
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.plans import PlanWatch

DEPTH = 50
"""So many of each lane are joined, at least."""


class ImageSearchService:
    """Finds pictures. Thread-safe."""

    def __init__(
        self,
        graph: Graph,
        search: SearchService,
        images: ImageSpaceRegistry,
        reader: ImageLooker,
        read_blob: Callable[[str], bytes],
    ) -> None:
        """Open nothing.

        Args:
            graph: where they are.
            search: finds them by words.
            images: the spaces of pictures.
            reader: looks at pictures in processes apart.
            read_blob: reads the file of a storage key.
        """
        self._graph = graph
        self._search = search
        self._images = images
        self._reader = reader
        self._read_blob = read_blob
        self._remembered = RememberedFilters(graph)
        self._plans = PlanWatch(graph)
        self._lanes = ImageLanes(graph)

    def search(self, request: ImageSearch) -> ImageHits:
        """Find pictures by words, or those that are like a stored one.

        Raises:
            NotFound: there is no such source.
            InvalidInput: it is a passage, or a filter cannot be understood.
        """
        if request.source_id is None:
            return images_by_words(self._search, request)
        own = find_source(self._graph, request.source_id)
        if own.image is None:
            raise InvalidInput(
                f"{request.source_id[:200]!r} is a passage of text, not a picture: pictures that go with it "
                "are at POST /queries/sources/ID/related (kg images for ID)"
            )
        picture = StoredPicture(
            self._images, self._reader, own, own.image, graph=self._graph, read_blob=self._read_blob
        )
        return self._like(picture, request)

    def search_like(self, content: bytes, request: ImageScope) -> ImageHits:
        """Find pictures that are like one that was sent.

        Raises:
            UnreadableDocument: it is no picture, or one that is not read; the message says why.
            TooBusy: too many files are being read.
            InvalidInput: a filter cannot be understood.
        """
        picture = AskedPicture(self._images, self._reader, lambda: content)
        _ = picture.looks  # what is no picture is refused whatever there is to search
        return self._like(picture, request)

    def _like(self, picture: AskedPicture, request: ImageScope) -> ImageHits:
        watch = Stopwatch("images")
        known = self._plans.known(request.ontologies or (), fresh=bool(request.documents))
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
        self, picture: AskedPicture, lanes: Sequence[ImageLaneFound], request: ImageScope
    ) -> list[ImageHit]:
        """By ranks, for a cosine of one space says nothing in another."""
        kept = [lane.at_least(request.min_similarity) for lane in lanes]
        scores = reciprocal_rank_fusion([*lane.found] for lane in kept)
        best = [*scores.items()][: 2 * request.limit]  # some may have been deleted meanwhile
        places = {place.source_id: place for place in places_of(self._graph, [each for each, _ in best])}
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
    """That a least similarity left all out that was measured."""
    measured = [
        way.similarity or 0.0 for lane in lanes if lane.name == "picture_space" for way in lane.found.values()
    ]
    if least is None or not measured or max(measured) >= least:
        return None
    return f"no picture is as similar as {least:g}: the nearest has {max(measured):.2f}"


def _not_measured(by: Sequence[ImageLane], request: ImageScope) -> list[Degradation]:
    if request.min_similarity is None or not {*by} - {"picture_space"}:
        return []
    effect = "min_similarity was not applied to what words or looks found: it needs vectors of pictures"
    return [Degradation(part="query", effect=effect)]
