from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nomic.embed
import numpy as np
import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding import open_embedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import EmbeddingSettings, load_settings
from tests.support.behaviours import Spoil
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY, Asking

TEXTS = [f"text number {n}" for n in range(7)]


def index(at: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def spoil(reply: dict[str, Any]) -> None:
        reply["data"][at]["index"] = value

    return spoil


def test_only_shorter_dimensions_are_requested(server: EmbeddingServer) -> None:
    with Asking("openai", server) as own, Asking("openai", server, embed_dims=256) as shorter:
        assert own.embedder.embed_passages(["a"]).shape == (1, 1536)
        assert shorter.embedder.embed_passages(["a"]).shape == (1, 256)
        assert shorter.embedder.identity.dimensions == 256
    assert "dimensions" not in server.requests[0].body
    assert server.requests[1].body["dimensions"] == 256


def test_a_model_of_another_server_gets_its_prefixes(server: EmbeddingServer) -> None:
    server.dimensions["nomic-embed-text"] = 768
    with Asking("openai", server, embed_model="nomic-embed-text") as asking:
        asking.embedder.embed_passages(["a"])
        asking.embedder.embed_query("b")
    assert [each.body["input"] for each in server.requests] == [["search_document: a"], ["search_query: b"]]


def test_a_server_that_counts_no_tokens_is_believed(server: EmbeddingServer) -> None:
    server.always = Spoil(lambda reply: reply.pop("usage"))
    with Asking("openai", server) as asking:
        assert len(asking.embedder.embed_passages(TEXTS)) == 7


SENTENCES = ["The cat sleeps.", "Rates rose."]


@dataclass
class Atlas:
    """Data of the account. The client would read this from the home folder."""

    atlas_api_path: str
    header: dict[str, str]


def test_it_needs_a_key() -> None:
    with pytest.raises(ConfigurationError, match="NOMIC_API_KEY is not set"):
        open_embedder(load_settings(embedding=EmbeddingSettings(provider="nomic")))


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (ModelChoice("nomic", "nomic-embed-vision-v1.5"), "KG_EMBEDDING__MODEL.*nomic-embed-text-v1.5"),
        (ModelChoice("nomic", "nomic-embed-text-v1", 128), "768 dimensions, not 128"),
        (ModelChoice("nomic", None, 32), "64 to 768 dimensions, not 32"),
    ],
)
def test_unsupported_model_choice_is_rejected(
    server: EmbeddingServer, choice: ModelChoice, complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        Asking("nomic", server, choice)


@pytest.mark.parametrize("task", ["search_document", "search_query"])
def test_own_client_sends_and_reads_the_same(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """The request should be the same as from the original client, but batches and long texts can be
    different."""
    atlas = Atlas(server.url, {"Authorization": f"Bearer {CANARY}"})
    monkeypatch.setattr(nomic.embed, "atlas_class", atlas)
    theirs = nomic.embed.text(
        SENTENCES, model="nomic-embed-text-v1.5", task_type=task, dimensionality=128, long_text_mode="mean"
    )
    their_requests = sorted(server.requests, key=lambda each: SENTENCES.index(each.body["texts"][0]))
    server.requests.clear()
    with Asking("nomic", server, ModelChoice("nomic", None, 128)) as asking:
        if task == "search_query":
            ours = np.stack([asking.embedder.embed_query(text) for text in SENTENCES])
        else:
            ours = np.concatenate([asking.embedder.embed_passages([text]) for text in SENTENCES])
    assert [each.body for each in server.requests] == [each.body for each in their_requests]
    assert {each.path for each in their_requests} == {each.path for each in server.requests}
    assert their_requests[0].headers["authorization"] == server.requests[0].headers["authorization"]
    vectors = np.array(theirs["embeddings"])
    assert np.allclose(ours, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-6)
