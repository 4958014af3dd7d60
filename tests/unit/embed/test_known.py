"""What kg knows of models, and what has to be set for others."""

from __future__ import annotations

import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding_port import CATALOGUE, price_of, remote_model
from kg_api.schemas.spaces import ModelChoice
from kg_api.schemas.vocabulary import Provider
from kg_api.sections import OpenAISettings
from kg_api.settings import EmbeddingSettings, load_settings


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
    found = remote_model(choice, load_settings())
    assert (found.name, found.dimensions, found.facts.max_tokens) == (model, dimensions, max_tokens)
    assert found.asks_for is None
    assert price_of(choice, load_settings()) == price


@pytest.mark.parametrize(("model", "least"), [("text-embedding-3-small", 1), ("text-embedding-3-large", 256)])
def test_matryoshka_models_are_asked_for_less(model: str, least: int) -> None:
    found = remote_model(ModelChoice("openai", model, least), load_settings())
    assert (found.dimensions, found.asks_for) == (least, least)


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("text-embedding-3-small", 1537),
        ("text-embedding-3-small", 0),
        ("text-embedding-ada-002", 512),
        ("nomic-embed-text-v1.5", 256),
    ],
)
def test_a_size_that_a_model_cannot_give_is_refused(model: str, dimensions: int) -> None:
    with pytest.raises(ConfigurationError, match=f"not {dimensions}: correct OPENAI_EMBED_DIMS"):
        remote_model(ModelChoice("openai", model, dimensions), load_settings())


def test_an_unknown_model_needs_its_size() -> None:
    with pytest.raises(ConfigurationError, match="does not know the model own-model: set OPENAI_EMBED_DIMS"):
        remote_model(ModelChoice("openai", "own-model"), load_settings())


def test_the_size_in_the_settings_is_of_their_own_model_only() -> None:
    settings = load_settings(
        openai=OpenAISettings(embed_model="own-model", embed_dims=32),
        embedding=EmbeddingSettings(max_tokens=2000, query_prefix="q: ", price=0.5),
    )
    own = remote_model(ModelChoice("openai"), settings)
    assert (own.dimensions, own.facts.max_tokens, own.facts.query_prefix) == (32, 2000, "q: ")
    other = remote_model(ModelChoice("openai", "other-model", 64), settings)
    assert (other.dimensions, other.facts.max_tokens, other.facts.query_prefix) == (64, 512, "")
    with pytest.raises(ConfigurationError, match="OPENAI_EMBED_DIMS"):
        remote_model(ModelChoice("openai", "other-model"), settings)


def test_what_stays_on_the_machine_is_free() -> None:
    assert price_of(ModelChoice("local"), load_settings()) == 0
    assert price_of(ModelChoice("deterministic"), load_settings()) == 0


def test_a_price_can_be_set() -> None:
    settings = load_settings(embedding=EmbeddingSettings(provider="nomic", price=0.1))
    assert price_of(ModelChoice("nomic"), settings) == 0.1
    assert price_of(ModelChoice("openai"), settings) == 0.02
    assert price_of(ModelChoice("openai", "own-model"), settings) is None


def test_the_packaged_ones_are_three() -> None:
    assert set(CATALOGUE) == {"bge-small-en-v1.5", "all-MiniLM-L6-v2", "e5-small-v2"}
