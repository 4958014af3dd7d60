"""The picture models of providers that kg knows, and what it takes another one for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import ImageModelChoice
from kg_api.settings import Settings

BATCH = 16
"""Pictures a request: some two megabytes."""


@dataclass(frozen=True, slots=True)
class KnownImageModel:
    """What a model takes and gives."""

    dimensions: int
    max_tokens: int
    sizes: tuple[int, ...] = ()
    """Other sizes that its vectors can be shortened to (Matryoshka)."""
    batch: int = BATCH
    query_prefix: str = ""
    text_model: str = ""
    """The model of the same space that reads words, where it is another one."""


NOMIC = {
    f"nomic-embed-vision-{version}": KnownImageModel(
        768, 8192, query_prefix="search_query: ", text_model=f"nomic-embed-text-{version}"
    )
    for version in ("v1.5", "v1")
}
"""The service puts the prefix there itself."""
COHERE = {
    "embed-v4.0": KnownImageModel(1536, 128_000, (256, 512, 1024)),
    "embed-multilingual-v3.0": KnownImageModel(1024, 512, batch=1),
    "embed-english-v3.0": KnownImageModel(1024, 512, batch=1),
}
OPENAI = {
    "jina-clip-v2": KnownImageModel(1024, 8192, (64, 128, 256, 512, 768)),
    "jina-clip-v1": KnownImageModel(768, 8192),
    "openai/clip-vit-base-patch32": KnownImageModel(512, 77),
    "openai/clip-vit-large-patch14": KnownImageModel(768, 77),
}
DEFAULT_MODELS = {"nomic": "nomic-embed-vision-v1.5", "cohere": "embed-v4.0"}


@dataclass(frozen=True, slots=True)
class RemoteImageModel:
    """A model to be asked for over HTTP, with the size of vectors that is wanted."""

    name: str
    facts: KnownImageModel
    dimensions: int

    @property
    def asks_for(self) -> int | None:
        """The size to ask the provider for; None when it is the model's own."""
        return self.dimensions if self.dimensions != self.facts.dimensions else None


def remote_image_model(
    choice: ImageModelChoice, settings: Settings, known: Mapping[str, KnownImageModel]
) -> RemoteImageModel:
    """Say all that has to be known of a provider's model.

    Raises:
        ConfigurationError: no model is named, kg does not know it and its size is not set, or it cannot give
            vectors of that size.
    """
    name = choice.model or DEFAULT_MODELS.get(choice.provider)
    if name is None:
        raise ConfigurationError(
            "KG_IMAGE_EMBEDDING__MODEL is not set where kg runs: set it to the server's model that takes "
            f"pictures, such as {', '.join(known)}"
        )
    facts = known.get(name) or _describe(name, choice, settings)
    wanted = choice.dimensions or facts.dimensions
    if wanted not in {facts.dimensions, *facts.sizes}:
        sizes = ", ".join(map(str, sorted({facts.dimensions, *facts.sizes})))
        raise ConfigurationError(
            f"{name} gives vectors of {sizes} numbers, not {wanted}: correct KG_IMAGE_EMBEDDING__DIMENSIONS "
            "or the space's dimensions, or leave them out"
        )
    return RemoteImageModel(name, facts, wanted)


def _describe(name: str, choice: ImageModelChoice, settings: Settings) -> KnownImageModel:
    own = settings.image_embedding
    if choice.provider == "nomic":
        raise ConfigurationError(
            f"KG_IMAGE_EMBEDDING__MODEL: kg does not know the model {name}; choose one of {', '.join(NOMIC)}"
        )
    if choice.dimensions is None:
        raise ConfigurationError(
            f"kg does not know the picture model {name}: set KG_IMAGE_EMBEDDING__DIMENSIONS (or the space's "
            "dimensions) to the size of its vectors"
        )
    is_own = own.provider == choice.provider and own.model == name  # what is set describes no other
    prefix = own.query_prefix if is_own else ""
    return KnownImageModel(choice.dimensions, own.max_tokens, query_prefix=prefix)
