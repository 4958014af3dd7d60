from __future__ import annotations

from typing import Any, cast

import pytest

from kg_api.errors import EmbeddingUnavailable
from kg_api.graph.spaces import Space
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.spaces import SpaceIdentity
from kg_api.spaces.open_spaces import OpenSpace
from kg_api.spaces.registry import ModelTokenCounter, token_counter
from tests.support.embedders import small_embedder
from tests.unit.search.canned import CannedGraph


class Prefixed:
    """Counts characters, and puts a prefix of four and two tokens of its own around each text."""

    def count_tokens(self, texts: list[str]) -> int:
        return sum(len(text) + 6 for text in texts)


def test_each_text_is_counted_without_what_the_model_puts_around_it() -> None:
    counter = ModelTokenCounter(cast("Embedder", Prefixed()))
    assert counter(["", "a", "abc"]) == [0, 1, 3]
    assert counter([]) == []


def opened(open_model: Any) -> OpenSpace:
    return OpenSpace(CannedGraph(), Space("default", small_embedder().identity), open_model)


def test_the_spaces_own_tokenizer_counts() -> None:
    counter = token_counter(opened(small_embedder))
    assert counter(["two words", "one"]) == [2, 1]
    assert counter.problem is None


@pytest.mark.parametrize("text", ["", "a", "héron", "语" * 10, "word " * 100])
def test_without_a_model_half_of_the_bytes_are_taken_and_it_is_said(text: str) -> None:
    def fails() -> Embedder:
        raise EmbeddingUnavailable("it is away")

    counter = token_counter(opened(fails))
    assert counter([text]) == [-(-len(text.encode()) // 2)]
    assert "estimated" in (counter.problem or "")
    assert "it is away" in (counter.problem or "")


def test_another_model_than_the_spaces_own_is_not_asked() -> None:
    space = Space("default", SpaceIdentity("local", "other", "1", 8, 512))
    counter = token_counter(OpenSpace(CannedGraph(), space, small_embedder))
    assert counter.embedder is None
