"""Searching for pictures: by words, by a picture that is stored, or by one that is sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kg_api.models.base import Answer, Body, Called, Text, visible
from kg_api.models.queries.fields import DocumentNames, Limit, Ontologies, Similarity
from kg_api.models.queries.filters import Where
from kg_api.models.queries.places import DescribedPlace, Place
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_QUERY_CHARACTERS, ImageLane


class ImageScope(Body):
    """Where pictures are looked for, and how many; with a picture that is sent."""

    ontology: Ontologies | None = None
    """Look only in these; unset or null: in all."""
    documents: DocumentNames | None = None
    """Look only in these documents: by name, `ONTOLOGY/NAME` or id; unset or null: in all."""
    where: Where | None = None
    """Look only in documents for which all of this holds."""
    limit: Limit = 10
    min_similarity: Similarity | None = None
    """Leave out what is less similar. To a picture: in the space of pictures; to words: as in a search for
    sources."""

    @property
    def ontologies(self) -> list[str] | None:
        """Those that are looked into; None: all."""
        return [self.ontology] if isinstance(self.ontology, str) else self.ontology


class ImageSearch(ImageScope):
    """A search for pictures, by words or by a picture that is stored."""

    query_text: (
        Annotated[Text, StringConstraints(max_length=MAX_QUERY_CHARACTERS), AfterValidator(visible)] | None
    ) = None
    """What to look for, in plain words."""
    source_id: Called | None = None
    """A picture to look for the like of: its id, or `ONTOLOGY/DOCUMENT#PARAGRAPH`."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> ImageSearch:
        if (self.query_text is None) == (self.source_id is None):
            raise ValueError("give query_text or source_id, one of them; or send a picture as a file")
        return self


class ImageThrough(Answer):
    """One way in which a picture was found."""

    lane: ImageLane
    """`picture_space`: the picture itself is near; `words`, `concepts`: as in a search for sources;
    `perceptual_hash`: it looks nearly the same."""
    rank: int | None
    """At which place, from 1; none where another way found it, and this one only measured it."""
    similarity: float | None = None
    """Cosine, in `space`."""
    space: str | None = None


class ImageHit(DescribedPlace):
    """A picture that was found."""

    score: float
    """What they are ordered by."""
    through: list[ImageThrough]
    differing_bits: int | None = None
    """Of the 64 of both perceptual hashes, where a picture was looked for."""
    near_duplicate: bool = False
    """Whether it looks nearly the same as the one looked for: six bits differ at most."""


class ImageHits(Answer):
    """The answer to a search for pictures."""

    query_text: str | None = None
    source: Place | None = None
    """The picture whose like was looked for, if it is stored."""
    by: list[ImageLane]
    """The ways in which pictures were looked for."""
    spaces: list[str]
    """The spaces of pictures that were searched; several are joined by ranks, never by similarities."""
    images: list[ImageHit] = Field(default_factory=list[ImageHit])
    """The best first."""
    note: str | None = None
    """That nothing is near the words, or as similar as was asked, where that is so."""
    degraded: list[Degradation]
    timings_ms: dict[str, float]
