"""Pictures by words: a search for sources of that kind, told as pictures are."""

from __future__ import annotations

from typing import Final

from kg_api.models.pictures.search import ImageHit, ImageHits, ImageSearch, ImageThrough
from kg_api.models.queries.places import DescribedPlace
from kg_api.models.queries.search import LanePart, SourceHit, SourceSearch
from kg_api.models.vocabulary import ImageLane
from kg_api.search.retrieve.hits import CONCEPTS, PICTURES, TEXT, VECTOR
from kg_api.search.service import SearchService

_PLACE: Final = set(DescribedPlace.model_fields)
_SAME: Final = {"query_text", "ontology", "documents", "where", "limit", "min_similarity"}


def images_by_words(search: SearchService, request: ImageSearch) -> ImageHits:
    """Find pictures by their words, through concepts, and by what they show where a model reads text.

    Raises:
        As `SearchService.search`.
    """
    asked = request.model_dump(include=_SAME)
    found = search.search(SourceSearch(**asked, kinds=["image"], concepts=True, explain=True))
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
        **hit.model_dump(include=_PLACE), score=hit.score, through=[_through(each) for each in parts]
    )


def _through(part: LanePart) -> ImageThrough:
    if part.lane in {TEXT, CONCEPTS}:
        return ImageThrough(lane="words" if part.lane == TEXT else "concepts", rank=part.rank)
    seen = part.lane.startswith(PICTURES)
    space = part.lane.removeprefix(PICTURES if seen else VECTOR)
    lane: ImageLane = "picture_space" if seen else "words"
    return ImageThrough(lane=lane, rank=part.rank, similarity=part.score, space=space)
