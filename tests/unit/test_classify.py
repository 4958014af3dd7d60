from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, InvalidInput, RerankUnavailable
from kg_api.providers.http import (
    JsonClient,
    Provider,
    ReplyStream,
    ReplyTooLarge,
    Service,
    Variables,
    classify,
)
from kg_api.providers.openai_chat import CHAT
from kg_api.providers.remote_embedding import EMBEDDING
from kg_api.providers.remote_rerank import RERANKING
from kg_api.providers.retrying import RejectedText, RetryableError

SERVICES = pytest.mark.parametrize("service", [EMBEDDING, CHAT, RERANKING], ids=lambda each: each.name)


def provider_of(service: Service) -> Provider:
    variables = Variables("A_MODEL", "AN_ADDRESS", "A_KEY")
    return Provider(service, variables, "m-1", "http://host", SecretStr("a-key-of-ours"))


def meaning(service: Service, status: int, body: object = None, **headers: str) -> Exception:
    lower = {name.lower(): each for name, each in headers.items()}
    return classify(status, lower, body, provider_of(service))


@SERVICES
@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [
        *((status, RetryableError, f"http://host returned {status}") for status in (408, 409, 425, 429, 503)),
        *((status, RejectedText, "reject") for status in (400, 413, 422, 424)),
        *((status, ConfigurationError, "[Ss]et A_KEY to") for status in (401, 402, 403, 498)),
        (404, ConfigurationError, r"\(m-1\).*Correct A_MODEL or AN_ADDRESS"),
        *((status, ConfigurationError, "Correct AN_ADDRESS") for status in (302, 405, 410, 501, 505)),
    ],
)
def test_a_status_means_the_same_everywhere(
    service: Service, status: int, kind: type[Exception], advice: str
) -> None:
    with pytest.raises(kind, match=advice):
        raise meaning(service, status)


@SERVICES
@pytest.mark.parametrize("parameter", ["model", "dimensions", "encoding_format"])
def test_reply_about_a_setting_does_not_reject_text(service: Service, parameter: str) -> None:
    with pytest.raises(ConfigurationError, match=f"this {parameter}. Correct A_MODEL"):
        raise meaning(service, 400, {"error": {"message": "no", "param": parameter}})


SAID = {"message": "said so", "param": None}
BODIES: dict[str, Any] = {
    "OpenAI": {"error": {**SAID, "type": "invalid_request_error", "code": None}},
    "OpenAI's SDK and older vLLM": {"object": "error", **SAID, "type": "BadRequestError", "code": 400},
    "vLLM": {"error": {**SAID, "type": "BadRequestError", "code": 400}},
    "TEI": {"error": "said so", "error_type": "Validation"},
    "Cohere": {"id": "7", "message": "said so"},
    "FastAPI": {"detail": "said so"},
}


@SERVICES
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_provider_s_own_words_are_never_repeated(service: Service, body: object) -> None:
    assert "said so" not in str(meaning(service, 422, body))


@SERVICES
@pytest.mark.parametrize("body", [None, [], "x", {}, {"error": None}, {"error": {"message": {}}}])
def test_a_body_without_words_is_fine(service: Service, body: object) -> None:
    assert isinstance(meaning(service, 422, body), RejectedText)


@pytest.mark.parametrize(
    ("service", "rejected", "misconfigured"),
    [
        (EMBEDDING, InvalidInput, ConfigurationError),
        (CHAT, InvalidInput, ConfigurationError),
        (RERANKING, RerankUnavailable, RerankUnavailable),
    ],
    ids=["embedding", "chat", "reranking"],
)
def test_each_service_has_errors_of_its_own(
    service: Service, rejected: type[Exception], misconfigured: type[Exception]
) -> None:
    client = JsonClient(provider_of(service), "/path")
    assert type(client.build_error(400, {}, None)) is rejected
    assert type(client.build_error(401, {}, None)) is misconfigured
    assert type(client.build_error(503, {}, None)) is RetryableError
    client.close()


@pytest.mark.parametrize("broken", [False, True])
def test_reply_of_a_stream_is_closed(*, broken: bool) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"error": "no"}'
        if broken:
            raise ReplyTooLarge("longer than allowed")

    closed: list[bool] = []
    client = JsonClient(provider_of(CHAT), "/path")
    with pytest.raises(CHAT.unusable) if broken else nullcontext():
        client.receive(ReplyStream(500, {}, pieces(), lambda: closed.append(True)))
    assert closed == [True]
    client.close()
