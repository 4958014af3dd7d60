from __future__ import annotations

from dataclasses import dataclass

import nomic.embed
import numpy as np
import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding import open_embedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import EmbeddingSettings, load_settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY, Asking

TEXTS = ["The cat sleeps.", "Rates rose."]


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
        TEXTS, model="nomic-embed-text-v1.5", task_type=task, dimensionality=128, long_text_mode="mean"
    )
    their_requests = sorted(server.requests, key=lambda each: TEXTS.index(each.body["texts"][0]))
    server.requests.clear()
    with Asking("nomic", server, ModelChoice("nomic", None, 128)) as asking:
        if task == "search_query":
            ours = np.stack([asking.embedder.embed_query(text) for text in TEXTS])
        else:
            ours = np.concatenate([asking.embedder.embed_passages([text]) for text in TEXTS])
    assert [each.body for each in server.requests] == [each.body for each in their_requests]
    assert {each.path for each in their_requests} == {each.path for each in server.requests}
    assert their_requests[0].headers["authorization"] == server.requests[0].headers["authorization"]
    vectors = np.array(theirs["embeddings"])
    assert np.allclose(ours, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-6)
