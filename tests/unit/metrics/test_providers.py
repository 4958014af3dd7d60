"""What is asked of providers is counted and timed: by kind and host, with what it took."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kg_api.errors import ConfigurationError, EmbeddingUnavailable, LlmUnavailable
from kg_api.llm.prompts import Prompt
from tests.support.behaviours import Drop, Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import open_quick
from tests.support.meters import Counted
from tests.support.providers import Asking

OF = {"kind": "embed", "provider": "127.0.0.1"}
LLM = {"kind": "llm", "provider": "127.0.0.1"}
TEXTS = ["one two three", "four five"]
QUESTION = Prompt("Write.", "something", "answer", {"type": "object"})


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        running.chat = lambda _: "written"
        yield running


def test_requests_tokens_and_dollars_of_embeddings(server: EmbeddingServer) -> None:
    counted = Counted()
    with Asking("openai", server) as asking:
        asking.embedder.embed_passages(TEXTS)
    assert counted("kg_provider_request_seconds_count", **OF) == 1
    assert counted("kg_provider_tokens_total", **OF, direction="read") == 5
    assert counted("kg_provider_cost_dollars_total", **OF) == pytest.approx(5 * 0.02 / 1e6)


def test_without_a_price_no_dollars_are_told(server: EmbeddingServer) -> None:
    counted = Counted()
    chat = open_quick(server)
    chat.ask(QUESTION)
    chat.close()
    assert counted("kg_provider_tokens_total", **LLM, direction="read") > 0
    assert counted("kg_provider_tokens_total", **LLM, direction="written") > 0
    assert counted("kg_provider_cost_dollars_total", **LLM) == 0


def test_what_a_language_model_costs(server: EmbeddingServer) -> None:
    counted = Counted()
    chat = open_quick(server, price_input=500_000, price_output=1_000_000)
    chat.ask(QUESTION)
    chat.close()
    read = counted("kg_provider_tokens_total", **LLM, direction="read")
    written = counted("kg_provider_tokens_total", **LLM, direction="written")
    assert counted("kg_provider_cost_dollars_total", **LLM) == read / 2 + written


@pytest.mark.parametrize(
    ("status", "reason", "tries"),
    [(429, "limit", 3), (503, "server", 3), (401, "key", 1), (404, "not_found", 1), (418, "other", 1)],
)
@pytest.mark.parametrize("provider", ["openai", "nomic"])
def test_failures_by_reason_and_retries(
    server: EmbeddingServer, provider: str, status: int, reason: str, tries: int
) -> None:
    counted = Counted()
    server.always = Status(status)
    asking = Asking("openai" if provider == "openai" else "nomic", server)
    with asking, pytest.raises((EmbeddingUnavailable, ConfigurationError)):
        asking.embedder.embed_passages(TEXTS)
    assert counted("kg_provider_failures_total", **OF, reason=reason) == tries
    assert counted("kg_provider_request_seconds_count", **OF) == tries
    assert counted("kg_provider_retries_total", kind="embed") == tries - 1
    assert counted("kg_provider_tokens_total", **OF, direction="read") == 0


def test_a_server_that_breaks_off(server: EmbeddingServer) -> None:
    server.always = Drop(mid_body=False)
    chat, counted = open_quick(server), Counted()
    with pytest.raises(LlmUnavailable):
        chat.ask(QUESTION)
    chat.close()
    assert counted("kg_provider_failures_total", **LLM, reason="unreachable") == 3
