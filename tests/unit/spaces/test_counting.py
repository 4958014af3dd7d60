from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from kg_api.errors import EmbeddingUnavailable, OtherModel
from kg_api.graph.spaces import Space
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Embedder
from kg_api.settings import load_settings
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import PROBE_TEXT, OpenSpace, calibrate_similarity
from kg_api.spaces.registry import ModelTokenCounter, build_space_token_counter, is_paid
from tests.support.embedders import small_embedder
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import SPACE
from tests.unit.spaces.conftest import Opened


class Prefixed:
    """Token counter that counts characters. It adds a prefix with four tokens and two other tokens to
    each text."""

    def count_tokens(self, texts: list[str]) -> int:
        return sum(len(text) + 6 for text in texts)


def test_counted_tokens_exclude_special_tokens() -> None:
    counter = ModelTokenCounter(cast("Embedder", Prefixed()))
    assert counter(["", "a", "abc"]) == [0, 1, 3]
    assert counter([]) == []


def opened(open_model: Any) -> OpenSpace:
    return OpenSpace(CannedGraph(), Space("default", small_embedder().identity), open_model)


def test_the_spaces_own_tokenizer_counts() -> None:
    counter = build_space_token_counter(opened(small_embedder))
    assert counter(["two words", "one"]) == [2, 1]
    assert counter.problem is None


@pytest.mark.parametrize("text", ["", "a", "héron", "语" * 10, "word " * 100])
def test_without_model_half_the_bytes_are_counted(text: str) -> None:
    def fails() -> Embedder:
        raise EmbeddingUnavailable("it is away")

    counter = build_space_token_counter(opened(fails))
    assert counter([text]) == [-(-len(text.encode()) // 2)]
    assert "estimated" in (counter.problem or "")
    assert "it is away" in (counter.problem or "")


HERE, THERE = "http://127.0.0.1:11434/v1", "https://models.example/v1"


def space_of(provider: str, model: str) -> Space:
    return replace(SPACE, identity=replace(SPACE.identity, provider=provider, model=model))


@pytest.mark.parametrize(
    ("address", "model", "price", "paid"),
    [
        (THERE, "nomic-embed-text", None, True),
        (HERE, "nomic-embed-text", None, False),
        (HERE, "nomic-embed-text", "0", False),
        (HERE, "nomic-embed-text", "0.1", True),
        (HERE, "text-embedding-3-small", None, True),
    ],
)
def test_local_server_is_free_unless_priced(
    monkeypatch: pytest.MonkeyPatch, address: str, model: str, price: str | None, paid: bool
) -> None:
    monkeypatch.setenv("KG_EMBEDDING__PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    if price:
        monkeypatch.setenv("KG_EMBEDDING__PRICE", price)
    assert is_paid(load_settings(), space_of("openai", model)) is paid


def test_related_texts_are_nearer_than_unrelated_ones() -> None:
    calibration = calibrate_similarity(DeterministicEmbedder())
    assert -1 <= calibration.unrelated < calibration.related <= 1
    assert calibration.gap == calibration.related - calibration.unrelated


def test_repeated_query_is_not_embedded_again(opened: Opened) -> None:
    opened.space.embed_query("owls")
    first, again = (opened.space.embed_query("foxes") for _ in range(2))
    assert opened.sent == [["owls", PROBE_TEXT], ["foxes"]]
    assert first.tobytes() == again.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1


def test_what_another_model_answered_is_not_remembered(
    opened: Opened, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong vector can be cached for some seconds until the change is detected."""
    del at_once
    monkeypatch.setattr(open_spaces, "PROVEN_SECONDS", 1000.0)
    opened.space.embed_query("owls")
    right = opened.space.embed_query("foxes").copy()
    opened.model.turned = True
    wrong = opened.space.embed_query("dens").copy()
    with pytest.raises(OtherModel):
        opened.space.check()
    opened.model.turned = False
    opened.space.check()
    assert opened.space.embed_query("dens").tobytes() != wrong.tobytes()
    assert opened.space.embed_query("foxes").tobytes() == right.tobytes()
