from pathlib import Path

import pytest

from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.embed.local import LocalEmbedder
from kg_api.embed.open import open_embedder
from kg_api.errors import ConfigurationError
from kg_api.settings import EmbeddingSettings, load_settings


def test_the_local_model_is_the_default() -> None:
    embedder = open_embedder(load_settings())
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.identity.model == "bge-small-en-v1.5"


def test_the_threads_of_the_settings_are_used(model_folder: Path) -> None:
    settings = load_settings(embedding=EmbeddingSettings(model_folder=model_folder, threads=3))
    embedder = open_embedder(settings)
    assert isinstance(embedder, LocalEmbedder)
    assert embedder._pool._max_workers == 3


def test_the_deterministic_one_is_had_by_its_name() -> None:
    settings = load_settings(embedding=EmbeddingSettings(provider="deterministic"))
    assert isinstance(open_embedder(settings), DeterministicEmbedder)


def test_an_empty_model_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.onnx"):
        open_embedder(load_settings(embedding=EmbeddingSettings(model_folder=tmp_path)))
