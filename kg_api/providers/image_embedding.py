"""Factory of image models."""

from __future__ import annotations

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding_port import ImageEmbedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import Settings


def get_default_image_choice(settings: Settings) -> ModelChoice:
    own = settings.image_embedding
    return ModelChoice(own.provider, own.model, own.dimensions, "image")


def open_image_embedder(settings: Settings, choice: ModelChoice | None = None) -> ImageEmbedder:
    """Open an embedder (default: from the settings). This does not send a request."""
    choice = choice or get_default_image_choice(settings)
    match choice.provider:
        case "histogram":
            from kg_api.providers.pixels import DIMENSIONS, MODEL, HistogramEmbedder  # noqa: PLC0415 - builds tables

            if choice.model not in {None, MODEL}:
                raise ConfigurationError(f"KG_IMAGE_EMBEDDING__MODEL: the histogram model is called {MODEL}")
            if choice.dimensions not in {None, DIMENSIONS}:
                raise ConfigurationError(
                    f"{MODEL} returns vectors of {DIMENSIONS} dimensions, not {choice.dimensions}. "
                    "Correct KG_IMAGE_EMBEDDING__DIMENSIONS or the dimensions of the space, or unset "
                    "them"
                )
            return HistogramEmbedder()
        case "onnx":
            from kg_api.providers.local_images import open_onnx  # noqa: PLC0415 - onnxruntime takes its time

            return open_onnx(settings, choice)
        case _:
            from kg_api.providers.embedding_endpoints import open_remote_images  # noqa: PLC0415 - httpx takes its time

            return open_remote_images(settings, choice)
