"""Embedding spaces. A space is one model with its settings."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from kg_api.schemas.base import Answer, Body, NodeId
from kg_api.schemas.vocabulary import ImageProvider, Modality, Provider

FIRST_SLUG: Final = "default"
FIRST_IMAGE_SLUG: Final = "default_images"
SLUG_PATTERN: Final = r"^[a-z][a-z0-9_]{0,39}$"

SECOND_SLOT: Final = "__b"  # suffix of the names of a space's second set of vectors

Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
"""Name of a space: lower-case letters, digits, and `_`, starting with a letter."""


def _reject_slot(slug: str) -> str:
    if slug.endswith(SECOND_SLOT):
        raise ValueError(f"names that end with {SECOND_SLOT} are kg's own")
    return slug


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Requested model of a space. kg adds the known properties of the model."""

    provider: Provider | ImageProvider
    model: str | None = None
    """Name of the model. For `onnx`: a subfolder of KG_IMAGE_EMBEDDING__FOLDER. None: default."""
    dimensions: int | None = None
    """Number of dimensions. None: default of the model. Matryoshka models can shorten vectors."""
    modality: Modality = "text"


@dataclass(frozen=True, slots=True)
class SimilarityCalibration:
    """Mean cosine similarity of related texts and of unrelated texts for a model."""

    related: float
    unrelated: float

    @property
    def gap(self) -> float:
        return self.related - self.unrelated

    @property
    def middle(self) -> float:
        """Cosine from which texts are more likely related than unrelated."""
        return (self.related + self.unrelated) / 2

    def interpolate_to_related(self, share: float) -> float:
        """Return the cosine at this share of the range from unrelated to related."""
        return self.unrelated + share * self.gap

    def interpolate_to_equal(self, share: float) -> float:
        """Return the cosine at this share of the range from unrelated to equal."""
        return self.unrelated + share * (1 - self.unrelated)


USUAL = SimilarityCalibration(related=0.65, unrelated=0.38)
"""Calibration of bge-small, for spaces without their own."""


@dataclass(frozen=True, slots=True)
class SpaceIdentity:
    """Properties that determine the vectors of a space."""

    provider: str
    model: str
    revision: str  # SHA-256 of the weights of a local model, or the provider's name for the revision
    dimensions: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    modality: Modality = "text"

    @property
    @lru_cache  # noqa: B019 - an identity is small, and kg has few
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with any part of the identity."""
        *parts, modality = astuple(self)
        if modality != "text":  # compatible with fingerprints from before image spaces
            parts.append(modality)
        return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]


SpaceState = Literal["active", "building", "retiring", "idle", "dropping"]
"""State of a space. `active`: answers searches. `building`: kg embeds while another space answers.
`retiring`: kept for a rollback. `idle`: unused. `dropping`: kg deletes it."""


class NewSpace(Body):
    model_config = ConfigDict(frozen=True)

    slug: Annotated[Slug, AfterValidator(_reject_slot)]
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
                f"the provider {self.provider} has no models for {of}. Choose one of {', '.join(fitting)}"
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
    """Maximum number of texts per model call. Null if this machine cannot open the model."""
    price_per_million_tokens: float | None
    """US dollars. 0 for a local model, null if unknown."""
    query_prefix: str
    passage_prefix: str
    fingerprint: str
    state: SpaceState
    for_new: bool
    """Whether new ontologies without a configuration use the space."""
    created_at: datetime
    ontologies: list[str]
    building: list[str]
    retiring: list[str]


class SpaceList(Answer):
    spaces: list[SpaceInfo]


class SpaceHealth(Answer):
    """Health of a space's model, including unchanged vectors."""

    slug: str
    status: Literal["ok", "error"]
    latency_ms: float | None
    error: str | None = None


class EmbeddingHealth(Answer):
    status: Literal["ok", "error"]
    spaces: list[SpaceHealth]
    notes: list[str] = Field(default_factory=list[str])
    """Limits of embedding servers that the service hit, each with a setting that avoids rejected requests."""
