import contextlib
import time
from typing import Any

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, InvalidInput, KgError, LlmFailed, LlmUnavailable
from kg_api.providers.chat import PROMPTS_INSTRUCTION, Chunk, DocumentPart, Prompt, build_question
from kg_api.providers.openai_chat import Chat, build_chat_provider
from kg_api.providers.retrying import RetryPolicy
from kg_api.sections import LlmSettings, OpenAISettings
from kg_api.settings import load_settings
from tests.support.behaviours import Behaviour, Drop, Raw, Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import context_of, llm_settings, open_quick
from tests.support.providers import CANARY

SECRET_TEXT = "The merger with the other company is planned for next May."
QUESTION = build_question(DocumentPart("T", (), "", SECRET_TEXT), [Chunk(SECRET_TEXT, ("Plans",))])


def drop_schema(body: dict[str, Any]) -> Prompt:
    system, user = body["messages"]
    return Prompt(system["content"], user["content"], QUESTION.name, QUESTION.schema)


def test_it_works(server: EmbeddingServer, chat: Chat) -> None:
    assert context_of(SECRET_TEXT) in chat.ask(QUESTION)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.body["model"] == "small-writer"
    assert request.body["response_format"]["json_schema"]["schema"] == QUESTION.schema
    assert drop_schema(request.body) == QUESTION
    assert [each["role"] for each in request.body["messages"]] == ["system", "user"]
    assert request.body["messages"][0]["content"] == PROMPTS_INSTRUCTION


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, InvalidInput, "KG_LLM__MODEL"),
        (401, ConfigurationError, "OPENAI_API_KEY"),
        (404, ConfigurationError, "KG_LLM__MODEL or OPENAI_BASE_URL"),
    ],
)
def test_permanent_error_is_not_retried(
    server: EmbeddingServer, chat: Chat, status: int, kind: type[KgError], message: str
) -> None:
    chat.ask(QUESTION)
    server.requests.clear()
    server.always = Status(status)
    with pytest.raises(kind, match=message):
        chat.ask(QUESTION)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 422, 501])
def test_server_without_schemas_is_used_without_them(
    server: EmbeddingServer, chat: Chat, status: int
) -> None:
    server.then(Status(status, message="response_format is not supported"))
    assert context_of(SECRET_TEXT) in chat.ask(QUESTION)
    assert context_of(SECRET_TEXT) in chat.ask(QUESTION)
    assert ["response_format" in each.body for each in server.requests] == [True, False, False]


NO_CHAT: list[Behaviour] = [
    Raw(b"<html>Log in</html>", "text/html"),
    Raw(b'{"choices": []}'),
    Raw(b'{"choices": [3]}'),
    Raw(b'{"choices": "x"}'),
    Raw(b'{"choices": [{"mess'),
]


@pytest.mark.parametrize("behaviour", NO_CHAT, ids=str)
def test_address_without_chat_service_is_reported(
    server: EmbeddingServer, chat: Chat, behaviour: Behaviour
) -> None:
    server.always = behaviour
    with pytest.raises(LlmFailed, match="OPENAI_BASE_URL"):
        chat.ask(QUESTION)
    assert len(server.requests) == 1


OTHER = "http://127.0.0.1:9/v1"
OWN = {"model": "m"}
SETTINGS: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (OWN, {}, CANARY, "OPENAI_API_KEY"),
    ({**OWN, "api_key": "own"}, {}, "own", "KG_LLM__API_KEY"),
    ({**OWN, "base_url": OTHER}, {}, "", "KG_LLM__API_KEY"),
    ({**OWN, "base_url": OTHER, "api_key": "own"}, {}, "own", "KG_LLM__API_KEY"),
    ({**OWN, "base_url": OTHER + "/deep"}, {"base_url": OTHER}, CANARY, "OPENAI_API_KEY"),
]


@pytest.mark.parametrize(("llm", "openai", "key", "variable"), SETTINGS)
def test_each_key_belongs_to_its_base_url(
    llm: dict[str, Any], openai: dict[str, Any], key: str, variable: str
) -> None:
    own = OpenAISettings(api_key=SecretStr(CANARY), **openai)
    provider = build_chat_provider(load_settings(llm=LlmSettings(**llm), openai=own))
    assert (provider.secret, provider.variables.key) == (key, variable)
    assert provider.address == llm.get("base_url", own.base_url)


@pytest.mark.parametrize(
    ("llm", "message"),
    [
        ({}, "KG_LLM__MODEL is not set"),
        (OWN, "OPENAI_API_KEY is not set"),
        ({**OWN, "base_url": "https://eu.api.openai.com/v1"}, "KG_LLM__API_KEY is not set"),
    ],
)
def test_missing_setting_is_named(llm: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_chat_provider(load_settings(llm=LlmSettings(**llm)))


def test_pieces_come_while_the_model_still_writes(server: EmbeddingServer) -> None:
    server.chat = lambda _: "word " * 60
    server.pause = 0.02
    begun = time.monotonic()
    pieces = open_quick(server, timeout_seconds=30).stream(QUESTION)
    next(pieces)
    first = time.monotonic() - begun
    assert len(list(pieces)) > 20
    assert first < (time.monotonic() - begun) / 2


@pytest.mark.parametrize("failure", [Status(503), Drop(mid_body=False)])
def test_failure_before_the_first_piece_is_retried(
    server: EmbeddingServer, chat: Chat, failure: Status | Drop
) -> None:
    server.chat = lambda _: "now"
    server.then(failure)
    assert "".join(chat.stream(QUESTION)) == "now"
    assert len(server.requests) == 2


def test_interrupted_stream_is_reported_without_retry(server: EmbeddingServer) -> None:
    server.chat = lambda _: "word " * 60
    server.pause = 0.1
    slow = open_quick(server, timeout_seconds=1).stream(QUESTION)
    assert next(slow)
    with pytest.raises(
        LlmUnavailable, match="closed the connection"
    ) as raised:  # the time-out is for all of it
        list(slow)
    assert raised.value.__context__ is None
    assert len(server.requests) == 1


def test_server_without_streams_is_called_normally(server: EmbeddingServer, chat: Chat) -> None:
    server.streams = False
    server.chat = lambda _: "all at once"
    assert list(chat.stream(QUESTION)) == ["all at once"]


SIMPLE_QUESTION = Prompt("instruction", "data", "name", {})


@pytest.mark.parametrize("given", [False, True])
def test_without_one_the_variable_is_named(*, given: bool) -> None:
    model = Chat(load_settings() if given else None)
    for ask in (
        lambda: model.name,
        lambda: model.ask(SIMPLE_QUESTION),
        lambda: list(model.stream(SIMPLE_QUESTION)),
    ):
        with pytest.raises(ConfigurationError, match="KG_LLM__MODEL"):
            ask()
    model.close()


@pytest.mark.parametrize("tries", [1, 2])
def test_interactive_request_has_few_retries(server: EmbeddingServer, tries: int) -> None:
    server.always = Status(503)
    policy = RetryPolicy(tries=tries, first_wait=0.01)
    model = Chat(llm_settings(server), policy)
    with contextlib.closing(model), pytest.raises(LlmUnavailable):
        model.ask(SIMPLE_QUESTION)
    assert len(server.requests) == tries
