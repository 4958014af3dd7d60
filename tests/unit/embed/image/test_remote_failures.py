from __future__ import annotations

import base64
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, InvalidInput
from kg_api.providers.remote_embedding import RejectedPictures, RemoteImageEmbedder, encode_jpeg
from kg_api.providers.retrying import RejectedText
from tests.support.behaviours import Behaviour, Raw, Spoil, Status
from tests.support.image_providers import PICTURES, opened
from tests.support.image_server import ImageServer
from tests.support.providers import CANARY


def test_image_request_after_temporary_error_is_retried(
    server: ImageServer, embedder: RemoteImageEmbedder
) -> None:
    for ask in (lambda: embedder.embed_images(PICTURES[:1]), lambda: embedder.embed_query("red")):
        server.requests.clear()
        server.then(Status(503), None)
        ask()
        assert len(server.requests) == 2


def test_image_that_fails_on_the_server_is_rejected(server: ImageServer) -> None:
    embedder = opened(server, "openai")
    server.then(Status(500), Status(500), Status(500, message="cannot decode"), None)
    with pytest.raises(RejectedText, match="returned 500"):
        embedder.embed_images(PICTURES[:1])
    server.then(*[Status(429)] * 3)
    with pytest.raises(EmbeddingUnavailable):
        embedder.embed_images(PICTURES[:1])


@pytest.mark.parametrize("status", [400])
def test_rejected_image_is_reported(server: ImageServer, embedder: RemoteImageEmbedder, status: int) -> None:
    server.always = Status(status, message="cannot decode picture 0")
    with pytest.raises(RejectedText, match="were rejected"):
        embedder.embed_images(PICTURES[:1])
    with pytest.raises(InvalidInput, match="the texts were rejected"):
        embedder.embed_query("red")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "told"), [(401, "_API_KEY"), (403, "_API_KEY"), (404, "KG_IMAGE_EMBEDDING__MODEL")]
)
def test_a_wrong_key_or_model_names_its_variable(
    server: ImageServer, embedder: RemoteImageEmbedder, status: int, told: str
) -> None:
    server.always = Status(status, message=f"wrong key {CANARY}")
    for ask in (lambda: embedder.embed_images(PICTURES[:1]), lambda: embedder.embed_query("red")):
        server.requests.clear()
        with pytest.raises(ConfigurationError, match=told) as raised:
            ask()
        assert len(server.requests) == 1
        assert CANARY not in "".join(traceback.format_exception(raised.value))


def test_only_the_faulty_image_is_rejected(server: ImageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = opened(server, "openai")
    bad = f"data:image/jpeg;base64,{base64.b64encode(encode_jpeg(PICTURES[1])).decode()}"
    monkeypatch.setattr(
        server, "next_behaviour", lambda body: Status(422) if {"image": bad} in body["input"] else None
    )
    with pytest.raises(RejectedPictures) as raised:
        embedder.embed_images(PICTURES[:4])
    assert list(raised.value.reasons) == [1]


def rows_of(reply: dict[str, Any]) -> list[Any]:
    if "data" in reply:
        return [item["embedding"] for item in reply["data"]]
    return reply["embeddings"]


def fill(value: Any) -> Callable[[dict[str, Any]], None]:
    def spoil(reply: dict[str, Any]) -> None:
        row = rows_of(reply)[0]
        row[:] = [value] * len(row)

    return spoil


def shorten(reply: dict[str, Any]) -> None:
    del rows_of(reply)[0][-1]


def double(reply: dict[str, Any]) -> None:
    rows = reply.get("data") or rows_of(reply)
    rows.append({**rows[0], "index": 1} if isinstance(rows[0], dict) else rows[0])


UNUSABLE: list[tuple[Behaviour, str]] = [
    (Spoil(double), r"1 (pictures|texts) were sent and 2 vectors"),
    (Spoil(shorten), r"have \d+ dimensions, not \d+. To fix this, set KG_IMAGE_EMBEDDING__DIMENSIONS"),
    (Spoil(fill(float("nan"))), "zero or not finite"),
    (Spoil(fill("x")), "not a list of numbers|_BASE_URL"),
    (Raw(b"<html>Log in</html>", "text/html"), "_BASE_URL"),
    (Raw(b'{"data": [{"embe'), "_BASE_URL"),
    (Raw(b'{"embeddings": {"float": "x"}, "data": {}}'), "_BASE_URL"),
    (Raw(b"[" * 100_000), "_BASE_URL|far more data than"),
    (Raw(b'{"data": "' + b"x" * (4 << 20) + b'"}'), "far more data than"),
]


@pytest.mark.parametrize(("behaviour", "told"), UNUSABLE, ids=lambda value: str(value)[:40])
def test_invalid_vectors_are_rejected(
    server: ImageServer, embedder: RemoteImageEmbedder, behaviour: Behaviour, told: str
) -> None:
    server.always = behaviour
    for ask in (lambda: embedder.embed_images(PICTURES[:1]), lambda: embedder.embed_query("red")):
        with pytest.raises(EmbeddingFailed, match=told):
            ask()
