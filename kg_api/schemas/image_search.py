"""Image search, and related passages and images."""

from __future__ import annotations

from pydantic import Field, model_validator

from kg_api.schemas.base import Answer, Called, Flag
from kg_api.schemas.filters import Filtered, Kinds, Limit, Narrowed, QueryText, Similarity
from kg_api.schemas.search import CarriedConcept, Degradation, DescribedPlace, Place
from kg_api.schemas.vocabulary import ImageLane, RelatedLane, SourceKind


class RelatedSearch(Filtered):
    kinds: Kinds | None = None
    """Kinds of sources to return. Default: passages for an image, images for a passage."""
    same_document: Flag = False
    limit: Limit = 10


class RelatedThrough(Answer):
    lane: RelatedLane
    """Relation to the source. `document`: same document, ranked by distance. `concepts`: concepts of the
    source or its neighbours. `words`: similar text. `picture_space`: similar image embedding. `link`:
    accepted link proposal."""
    rank: int
    distance: int | None = None
    similarity: float | None = None
    space: str | None = None
    concepts: list[CarriedConcept] = Field(default_factory=list[CarriedConcept])


class RelatedSource(DescribedPlace):
    score: float
    through: list[RelatedThrough]


class RelatedSources(Answer):
    source: Place
    kinds: list[SourceKind]
    sources: list[RelatedSource]
    note: str | None = None
    """Whether the sources only have similar text, and none of them is a close match."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]


# Image search by text, stored image, or uploaded image


class ImageScope(Narrowed):
    limit: Limit = 10
    min_similarity: Similarity | None = None
    """Minimum cosine similarity. For an image: in the image space. For text: as in a source search."""


class ImageSearch(ImageScope):
    query_text: QueryText | None = None
    source_id: Called | None = None
    """Image to compare with: id, or `ONTOLOGY/DOCUMENT#PARAGRAPH`."""

    @model_validator(mode="after")
    def _check_single_query(self) -> ImageSearch:
        if (self.query_text is None) == (self.source_id is None):
            raise ValueError("pass either query_text or source_id, or send an image as a file")
        return self


class ImageThrough(Answer):
    lane: ImageLane
    """`picture_space`: similar image embedding. `words`, `concepts`: as in a source search."""
    rank: int | None
    """Rank from 1. Null if only another retriever found the image."""
    similarity: float | None = None
    space: str | None = None


class ImageHit(DescribedPlace):
    score: float
    through: list[ImageThrough]


class ImageHits(Answer):
    query_text: str | None = None
    source: Place | None = None
    by: list[ImageLane]
    spaces: list[str]
    """Searched image spaces. kg fuses several spaces by rank."""
    images: list[ImageHit] = Field(default_factory=list[ImageHit])
    note: str | None = None
    degraded: list[Degradation]
    timings_ms: dict[str, float]
