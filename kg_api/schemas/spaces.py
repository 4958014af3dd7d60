"""Embedding spaces: one model with its settings."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Body, NodeId
from kg_api.schemas.vocabulary import ImageProvider, Modality, Provider

FIRST_SLUG: Final = "default"
FIRST_IMAGE_SLUG: Final = "default_images"
SLUG_PATTERN: Final = r"^[a-z][a-z0-9_]{0,39}$"

SECOND_SLOT: Final = "__b"
"""Stands behind the names of a space's second set of vectors."""

Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
"""A space's name: lower-case letters, digits and `_`, beginning with a letter."""


def _not_a_slot(slug: str) -> str:
    if slug.endswith(SECOND_SLOT):
        raise ValueError(f"names that end with {SECOND_SLOT} are kg's own")
    return slug


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model a space is for, as a person names it; the rest follows from what is known of the model."""

    provider: Provider
    model: str | None = None
    dimensions: int | None = None
    """Unset: the model's own; fewer for models that can shorten their vectors (Matryoshka)."""


@dataclass(frozen=True, slots=True)
class ImageModelChoice:
    """Which model a space of pictures is for."""

    provider: ImageProvider
    model: str | None = None
    """Unset: the provider's default; of `onnx` the name of a folder below KG_IMAGE_EMBEDDING__FOLDER."""
    dimensions: int | None = None


@dataclass(frozen=True, slots=True)
class SimilarityCalibration:
    """What a model's cosines mean: the mean of texts that belong together, and of texts that do not."""

    related: float
    unrelated: float

    @property
    def gap(self) -> float:
        return self.related - self.unrelated

    @property
    def middle(self) -> float:
        """What is at least as near as this is rather related than not."""
        return (self.related + self.unrelated) / 2

    def toward_related(self, share: float) -> float:
        """The cosine so far on the way from unrelated texts to related ones."""
        return self.unrelated + share * self.gap

    def toward_equal(self, share: float) -> float:
        """The cosine so far on the way from unrelated texts to equal ones."""
        return self.unrelated + share * (1 - self.unrelated)


USUAL = SimilarityCalibration(related=0.65, unrelated=0.38)
"""That of bge-small; for a space whose own is not known yet."""


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """Everything that decides what a vector of this space looks like."""

    provider: str
    model: str
    revision: str
    """The weights' sha256 for a local model, the provider's own name for it otherwise."""
    dimensions: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    modality: Modality = "text"

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when any part of the identity does."""
        *parts, modality = astuple(self)
        if modality != "text":  # those of texts were made before there were others
            parts.append(modality)
        return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]


SpaceState = Literal["active", "building", "retiring", "idle", "dropping"]
"""`active`: answers; `building`: its vectors are being made while another space answers; `retiring`: answered
before, kept to go back to; `idle`: nobody uses it; `dropping`: is being removed."""


class NewSpace(Body):
    model_config = ConfigDict(frozen=True)

    slug: Annotated[Slug, AfterValidator(_not_a_slot)]
    modality: Modality = "text"
    provider: Provider | ImageProvider
    model: NodeId | None = None
    dimensions: Annotated[int, Field(strict=True, ge=1, le=4096)] | None = None

    @model_validator(mode="after")
    def _provider_fits(self) -> Self:
        fitting = get_args(ImageProvider if self.modality == "image" else Provider)
        if self.provider not in fitting:
            of = "pictures" if self.modality == "image" else "texts"
            raise ValueError(
                f"the provider {self.provider} has no models for {of}; choose one of {', '.join(fitting)}"
            )
        return self


class SpaceInfo(Answer):
    slug: str
    modality: Modality
    provider: str
    model: str
    revision: str
    dimensions: int
    max_tokens: int
    batch_size: int | None
    """Most texts that go to the model in one call; none when the model cannot be opened here."""
    price_per_million_tokens: float | None
    """US dollars; none when it is not known, 0 for what runs here."""
    query_prefix: str
    passage_prefix: str
    fingerprint: str
    state: SpaceState
    for_new: bool
    """Whether ontologies use it that nobody has configured."""
    created_at: datetime
    ontologies: list[str]
    building: list[str]
    retiring: list[str]


class SpaceList(Answer):
    spaces: list[SpaceInfo]


class SpaceHealth(Answer):
    """Whether a space's model answers, and as it always did."""

    slug: str
    status: Literal["ok", "error"]
    latency_ms: float | None
    error: str | None = None


class EmbeddingHealth(Answer):
    status: Literal["ok", "error"]
    age_seconds: float = Field(default=0, ge=0)
    spaces: list[SpaceHealth]
    notes: list[str] = Field(default_factory=list[str])
    """Limits of the servers that the service has met, each with the setting that spares rejected requests."""
