from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding import default_choice, open_embedder
from kg_api.providers.embedding_port import CATALOGUE, build_remote_model, price_of
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.schemas.vocabulary import Provider
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import EmbeddingSettings, load_settings


def test_the_local_model_is_the_default() -> None:
    embedder = open_embedder(load_settings())
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.identity.model == "bge-small-en-v1.5"
    assert default_choice(load_settings()) == ModelChoice("local", "bge-small-en-v1.5")


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_packaged_model_is_had_by_its_name(name: str) -> None:
    settings = load_settings(embedding=EmbeddingSettings(model=name, threads=1))
    for embedder in (open_embedder(settings), open_embedder(load_settings(), ModelChoice("local", name))):
        assert embedder.identity.model == name
        assert embedder.embed_query("hello").shape == (embedder.identity.dimensions,)
        embedder.close()


def test_custom_model_is_opened_by_name(model_folder: Path, tmp_path: Path) -> None:
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
        (ModelChoice("local", None, 100), "384 dimensions, not 100"),
        (ModelChoice("deterministic", "magic"), "word-hash"),
    ],
)
def test_missing_model_is_rejected(choice: ModelChoice, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        open_embedder(load_settings(), choice)


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


@pytest.mark.parametrize(
    ("provider", "model", "dimensions", "max_tokens", "price"),
    [
        ("openai", "text-embedding-3-small", 1536, 8191, 0.02),
        ("openai", "text-embedding-3-large", 3072, 8191, 0.13),
        ("openai", "text-embedding-ada-002", 1536, 8191, 0.10),
        ("openai", "nomic-embed-text", 768, 2048, None),
        ("nomic", "nomic-embed-text-v1.5", 768, 8192, None),
        ("nomic", "nomic-embed-text-v1", 768, 8192, None),
    ],
)
def test_models_are_known(
    provider: Provider, model: str, dimensions: int, max_tokens: int, price: float | None
) -> None:
    choice = ModelChoice(provider, model)
    found = build_remote_model(choice, load_settings())
    assert (found.name, found.dimensions, found.facts.max_tokens) == (model, dimensions, max_tokens)
    assert found.requested_dimensions is None
    assert price_of(choice, load_settings()) == price


@pytest.mark.parametrize(("model", "least"), [("text-embedding-3-small", 1), ("text-embedding-3-large", 256)])
def test_matryoshka_models_accept_fewer_dimensions(model: str, least: int) -> None:
    found = build_remote_model(ModelChoice("openai", model, least), load_settings())
    assert (found.dimensions, found.requested_dimensions) == (least, least)


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("text-embedding-3-small", 1537),
        ("text-embedding-3-small", 0),
        ("text-embedding-ada-002", 512),
        ("nomic-embed-text-v1.5", 256),
    ],
)
def test_unsupported_dimensions_are_rejected(model: str, dimensions: int) -> None:
    with pytest.raises(ConfigurationError, match=f"not {dimensions}. Correct OPENAI_EMBED_DIMS"):
        build_remote_model(ModelChoice("openai", model, dimensions), load_settings())


def test_configured_dimensions_apply_only_to_their_model() -> None:
    settings = load_settings(
        openai=OpenAISettings(embed_model="own-model", embed_dims=32),
        embedding=EmbeddingSettings(max_tokens=2000, query_prefix="q: ", price=0.5),
    )
    own = build_remote_model(ModelChoice("openai"), settings)
    assert (own.dimensions, own.facts.max_tokens, own.facts.query_prefix) == (32, 2000, "q: ")
    other = build_remote_model(ModelChoice("openai", "other-model", 64), settings)
    assert (other.dimensions, other.facts.max_tokens, other.facts.query_prefix) == (64, 512, "")
    with pytest.raises(ConfigurationError, match="OPENAI_EMBED_DIMS"):
        build_remote_model(ModelChoice("openai", "other-model"), settings)
