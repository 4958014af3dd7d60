"""Passages that go with a picture, and pictures that go with a passage."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Called, Flag, Text, visible
from kg_api.schemas.filters import Filtered, Kinds, Limit, Narrowed, Similarity
from kg_api.schemas.search import CarriedConcept, Degradation, DescribedPlace, Place
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS, ImageLane, RelatedLane, SourceKind


class RelatedSearch(Filtered):
    kinds: Kinds | None = None
    """Of these kinds; unset or null: passages for a picture, pictures for a passage."""
    same_document: Flag = False
    limit: Limit = 10


class RelatedThrough(Answer):
    lane: RelatedLane
    """`document`: it stands in the same document, the nearer the better; `concepts`: it carries concepts of
    the source or of what stands beside it; `words`: its words are near; `picture_space`: the picture itself
    is near; `link`: somebody accepted a proposed link of the two."""
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
    degraded: list[Degradation]
    timings_ms: dict[str, float]


# Searching for pictures: by words, by a picture that is stored, or by one that is sent.


class ImageScope(Narrowed):
    limit: Limit = 10
    min_similarity: Similarity | None = None
    """Leave out what is less similar. To a picture: in the space of pictures; to words: as in a search for
    sources."""


class ImageSearch(ImageScope):
    query_text: (
        Annotated[Text, StringConstraints(max_length=MAX_QUERY_CHARACTERS), AfterValidator(visible)] | None
    ) = None
    source_id: Called | None = None
    """A picture to look for the like of: its id, or `ONTOLOGY/DOCUMENT#PARAGRAPH`."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> ImageSearch:
        if (self.query_text is None) == (self.source_id is None):
            raise ValueError("give query_text or source_id, one of them; or send a picture as a file")
        return self


class ImageThrough(Answer):
    lane: ImageLane
    """`picture_space`: the picture itself is near; `words`, `concepts`: as in a search for sources;
    `perceptual_hash`: it looks nearly the same."""
    rank: int | None
    """At which place, from 1; none where another way found it, and this one only measured it."""
    similarity: float | None = None
    space: str | None = None


class ImageHit(DescribedPlace):
    score: float
    through: list[ImageThrough]
    differing_bits: int | None = None
    """Of the 64 of both perceptual hashes, where a picture was looked for."""
    near_duplicate: bool = False
    """Whether it looks nearly the same as the one looked for: six bits differ at most."""


class ImageHits(Answer):
    query_text: str | None = None
    source: Place | None = None
    by: list[ImageLane]
    spaces: list[str]
    """The spaces of pictures that were searched; several are joined by ranks, never by similarities."""
    images: list[ImageHit] = Field(default_factory=list[ImageHit])
    note: str | None = None
    degraded: list[Degradation]
    timings_ms: dict[str, float]
