"""The embedder that the settings, or a space, name."""

from __future__ import annotations

from pathlib import Path

from kg_api.embed.catalogue import CATALOGUE, ModelSpec
from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.embed.known import DEFAULT_MODELS, own_model, require_packaged_model
from kg_api.embed.local.packaged import describe, ensure_packaged, find_model
from kg_api.embed.port import Embedder
from kg_api.errors import ConfigurationError
from kg_api.models.embedding.spaces import ModelChoice
from kg_api.settings import Settings


def default_choice(settings: Settings) -> ModelChoice:
    """Say which model the settings name. The model of a folder of one's own has no name here."""
    own = settings.embedding
    match own.provider:
        case "openai":
            return ModelChoice("openai", own_model(settings), settings.openai.embed_dims)
        case "local" if own.model_folder is not None:
            return ModelChoice("local")
        case provider:
            return ModelChoice(provider, own.model or DEFAULT_MODELS[provider])


def open_embedder(settings: Settings, choice: ModelChoice | None = None) -> Embedder:
    """Open the embedder of a choice, by default the settings' own.

    A local model is fetched when it is not there. Nothing is asked of a provider yet.

    Raises:
        ConfigurationError: a key is missing, kg does not know the model, it cannot give vectors of that size,
            the provider's packages are not installed, or the model's files are missing, wrong or cannot be
            stored.
        ManagedProcessError: the model cannot be fetched.
    """
    choice = choice or default_choice(settings)
    match choice.provider:
        case "deterministic":
            return _open_deterministic(choice)
        case "local":
            return _open_local(settings, choice)
        case "openai":
            from kg_api.embed.remote.openai import open_openai  # noqa: PLC0415 - the SDK is an extra, and slow to import

            return open_openai(settings, choice)
        case "nomic":
            from kg_api.embed.remote.nomic import open_nomic  # noqa: PLC0415 - so is httpx

            return open_nomic(settings, choice)


def _open_deterministic(choice: ModelChoice) -> Embedder:
    usual = DEFAULT_MODELS["deterministic"]
    if choice.model not in {None, usual}:
        raise ConfigurationError(f"KG_EMBEDDING__MODEL: the deterministic model is called {usual}")
    return DeterministicEmbedder(choice.dimensions) if choice.dimensions else DeterministicEmbedder()


def _open_local(settings: Settings, choice: ModelChoice) -> Embedder:
    from kg_api.embed.local.embedder import LocalEmbedder  # noqa: PLC0415 - onnxruntime takes its time to import

    folder, spec = _find_local(settings, choice.model)
    if choice.dimensions not in {None, spec.dimensions}:
        raise ConfigurationError(
            f"{spec.name} gives vectors of {spec.dimensions} numbers, not {choice.dimensions}"
        )
    return LocalEmbedder(folder, spec, settings.embedding.threads)


def _find_local(settings: Settings, name: str | None) -> tuple[Path, ModelSpec]:
    """Find a packaged model, or that of a folder: nameless, or by the name in its model.json."""
    if name is None:
        return find_model(settings)
    own = settings.embedding.model_folder
    if own is not None and name not in CATALOGUE and (described := describe(own)).name == name:
        return own, described
    model = CATALOGUE[require_packaged_model(name)]
    return ensure_packaged(model, settings.cache), model.spec
