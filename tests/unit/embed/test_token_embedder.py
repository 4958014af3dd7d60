from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder, EmbeddingMetrics, MeteredEmbedder
from kg_api.providers.embedding_port import (
    CATALOGUE,
    Embedder,
    TextPart,
    TokenEmbedder,
    is_token_embedder,
    require_tokens,
)
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_packaged
from kg_api.settings import load_settings
from tests.support.providers import Asking

BANK = "They met by the water. The bank was green and full of flowers. A fish jumped out of the river."
MONEY = "They asked for a loan. The bank was green and full of flowers. The interest was paid in March."
SENTENCE = "The bank was green and full of flowers."


def part(text: str, said: str = SENTENCE) -> TextPart:
    start = text.index(said)
    return TextPart(text, start, start + len(said))


@pytest.fixture(params=["deterministic", "local", "metered", "all-MiniLM-L6-v2", "e5-small-v2"])
def embedder(request: pytest.FixtureRequest) -> Iterator[TokenEmbedder]:
    match request.param:
        case "deterministic":
            yield DeterministicEmbedder()
        case "local":
            yield request.getfixturevalue("local")
        case "metered":
            watched = MeteredEmbedder(request.getfixturevalue("local"), EmbeddingMetrics(CollectorRegistry()))
            assert is_token_embedder(watched)
            yield watched
        case name:
            model = CATALOGUE[name]
            yield LocalEmbedder(ensure_packaged(model, load_settings().cache), model.spec, threads=2)


def test_parts_give_one_unit_row_each(embedder: TokenEmbedder) -> None:
    vectors = embedder.embed_parts([part(BANK), part(MONEY), part(BANK, "A fish")])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert embedder.embed_parts([]).shape == (0, embedder.identity.dimensions)


def test_part_is_embedded_in_its_context(embedder: TokenEmbedder) -> None:
    river, money = embedder.embed_parts([part(BANK), part(MONEY)])
    (alone,) = embedder.embed_passages([SENTENCE])
    fish, loan = embedder.embed_passages(["A fish jumped out of the river.", "They asked for a loan."])
    assert river.tobytes() != money.tobytes()
    assert (river - money) @ (fish - loan) > 0
    assert min(river @ alone, money @ alone) > 0.8, "it says what it says, wherever it stands"


def test_context_affects_only_its_own_part(embedder: TokenEmbedder) -> None:
    plain = part(BANK)
    titled = TextPart(plain.text, plain.start, plain.end, "Finance > Loans\n\n")
    first, second = embedder.embed_parts([plain, titled])
    finance, river = embedder.embed_passages(["Finance > Loans", "A river and its fish."])
    assert second @ finance > first @ finance
    assert second @ finance - first @ finance > second @ river - first @ river


def test_text_over_the_limit_is_rejected(embedder: TokenEmbedder) -> None:
    text = f"{SENTENCE} " + "word " * embedder.identity.max_tokens
    with pytest.raises(InvalidInput, match="tokens"):
        embedder.embed_parts([part(text)])


def test_model_prefix_does_not_shift_parts() -> None:
    """If the offset were wrong by two words, only the vector for the whole text would be correct."""
    model = CATALOGUE["e5-small-v2"]
    embedder = LocalEmbedder(ensure_packaged(model, load_settings().cache), model.spec, threads=1)
    mean = embedder._model.embed_spans("passage: " + BANK, [(9 + BANK.index("A fish"), 9 + len(BANK))])[0][0]
    by_hand = states_of(embedder, "passage: " + BANK)[-9:-1].mean(axis=0)  # a fish jumped out of the river .
    assert mean is not None
    assert np.allclose(mean, by_hand / np.linalg.norm(by_hand), atol=1e-5)


def states_of(embedder: LocalEmbedder, text: str) -> NDArray[np.float32]:
    ids, _ = embedder._model._encode(text)
    return embedder._model._states(ids)


@pytest.mark.parametrize("provider", ["openai", "nomic"])
def test_remote_providers_reject_parts_and_name_alternatives(
    provider: str, request: pytest.FixtureRequest
) -> None:
    with Asking(provider, request.getfixturevalue("server")) as asking:  # pyright: ignore[reportArgumentType]
        watched: Embedder = MeteredEmbedder(asking.embedder, EmbeddingMetrics(CollectorRegistry()))
        assert not is_token_embedder(watched)
        with pytest.raises(ConfigurationError, match=r"bge-small-en-v1.5.*kg admin spaces create"):
            require_tokens(watched)
