import json
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding import DeterministicEmbedder, default_choice, open_embedder
from kg_api.providers.embedding_port import CATALOGUE
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import EmbeddingSettings, load_settings


def test_the_local_model_is_the_default() -> None:
    embedder = open_embedder(load_settings())
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.identity.model == "bge-small-en-v1.5"
    assert default_choice(load_settings()) == ModelChoice("local", "bge-small-en-v1.5")


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


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_packaged_model_is_had_by_its_name(name: str) -> None:
    settings = load_settings(embedding=EmbeddingSettings(model=name, threads=1))
    for embedder in (open_embedder(settings), open_embedder(load_settings(), ModelChoice("local", name))):
        assert embedder.identity.model == name
        assert embedder.embed_query("hello").shape == (embedder.identity.dimensions,)
        embedder.close()


def test_a_folder_of_ones_own_is_for_the_unnamed_model_only(tmp_path: Path) -> None:
    settings = load_settings(embedding=EmbeddingSettings(model_folder=tmp_path))
    assert default_choice(settings) == ModelChoice("local")
    assert open_embedder(settings, ModelChoice("local", "e5-small-v2")).identity.model == "e5-small-v2"


def test_a_model_of_ones_own_is_had_by_its_name_too(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path, dirs_exist_ok=True)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))  # no longer the packaged bytes
    described = {"name": "my-model", "dimensions": 384, "max_tokens": 512, "pooling": "cls"}
    (tmp_path / "model.json").write_text(json.dumps(described))
    settings = load_settings(embedding=EmbeddingSettings(model_folder=tmp_path))
    for choice in (None, ModelChoice("local", "my-model")):
        assert open_embedder(settings, choice).identity.model == "my-model"


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (ModelChoice("local", "bge-huge"), "KG_EMBEDDING__MODEL.*bge-huge.*all-MiniLM-L6-v2"),
        (ModelChoice("local", None, 100), "384 numbers, not 100"),
        (ModelChoice("deterministic", "magic"), "word-hash"),
    ],
)
def test_what_is_not_there_is_refused(choice: ModelChoice, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        open_embedder(load_settings(), choice)


def test_the_deterministic_one_may_have_any_size() -> None:
    one = open_embedder(load_settings(), ModelChoice("deterministic", None, 64))
    other = open_embedder(load_settings(), ModelChoice("deterministic", "word-hash", 128))
    assert (one.identity.dimensions, other.identity.dimensions) == (64, 128)
    assert one.identity.fingerprint != other.identity.fingerprint


def test_providers_are_had_by_their_names() -> None:
    settings = load_settings(
        openai=OpenAISettings(api_key=SecretStr("sk-1234"), embed_dims=256),
        nomic=NomicSettings(api_key=SecretStr("nk-1234")),
        embedding=EmbeddingSettings(provider="openai"),
    )
    assert default_choice(settings) == ModelChoice("openai", "text-embedding-3-small", 256)
    own = open_embedder(settings)
    nomic = open_embedder(settings, ModelChoice("nomic"))
    assert (own.identity.provider, own.identity.dimensions) == ("openai", 256)
    assert (nomic.identity.provider, nomic.identity.model) == ("nomic", "nomic-embed-text-v1.5")
    own.close()
    nomic.close()


def test_one_variable_names_the_model_of_any_provider() -> None:
    settings = load_settings(embedding=EmbeddingSettings(provider="openai", model="text-embedding-3-large"))
    assert default_choice(settings).model == "text-embedding-3-large"
    settings = load_settings(embedding=EmbeddingSettings(provider="nomic", model="nomic-embed-text-v1"))
    assert default_choice(settings) == ModelChoice("nomic", "nomic-embed-text-v1")
