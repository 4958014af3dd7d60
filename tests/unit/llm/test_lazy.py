from __future__ import annotations

import contextlib

import pytest

from kg_api.errors import ConfigurationError, LlmUnavailable
from kg_api.providers.chat import LanguageModel, Prompt
from kg_api.providers.retrying import RetryPolicy
from kg_api.settings import load_settings
from tests.support.behaviours import Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import llm_settings

QUESTION = Prompt("instruction", "data", "name", {})


@pytest.mark.parametrize("given", [False, True])
def test_without_one_the_variable_is_named(*, given: bool) -> None:
    model = LanguageModel(load_settings() if given else None)
    for ask in (lambda: model.name, lambda: model.ask(QUESTION), lambda: list(model.stream(QUESTION))):
        with pytest.raises(ConfigurationError, match="KG_LLM__MODEL"):
            ask()
    model.close()


def test_all_steps_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as told:
        LanguageModel(load_settings()).ask(QUESTION)
    variables = ("KG_LLM__MODEL", "OPENAI_API_KEY", "KG_LLM__BASE_URL")
    for step in (*variables, "`kg down`", "`kg up`"):
        assert step in str(told.value)


def test_it_is_opened_once_and_closed(server: EmbeddingServer) -> None:
    server.chat = lambda _: "said"
    with contextlib.closing(LanguageModel(llm_settings(server))) as model:
        assert model.name == "small-writer"
        assert server.requests == []
        assert model.ask(QUESTION) == "said"
        assert "".join(model.stream(QUESTION)) == "said"


@pytest.mark.parametrize("tries", [1, 2])
def test_interactive_request_has_few_retries(server: EmbeddingServer, tries: int) -> None:
    server.always = Status(503)
    policy = RetryPolicy(tries=tries, first_wait=0.01)
    model = LanguageModel(llm_settings(server), policy)
    with contextlib.closing(model), pytest.raises(LlmUnavailable):
        model.ask(QUESTION)
    assert len(server.requests) == tries
