import base64
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, EmbeddingFailed
from kg_api.providers.embedding_endpoints import open_remote_images
from kg_api.providers.embedding_port import ImageEmbedder, Pixels
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.providers.remote_embedding import RejectedPictures, RemoteImageEmbedder, _known, encode_jpeg
from kg_api.providers.retrying import RetryPolicy
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import EmbeddingSettings, ImageEmbeddingSettings, Settings, load_settings
from tests.support.behaviours import Behaviour, Raw, Spoil, Status, add_one, fill_last, shorten
from tests.support.image_changes import as_rendered
from tests.support.image_models import COLOURS
from tests.support.image_server import ImageServer
from tests.support.images import drawn, encoded, exif
from tests.support.providers import CANARY, QUICK

KINDS = ["nomic", "openai"]
OPEN: list[ImageEmbedder] = []
"""Providers to close after a test."""


def settings(server: ImageServer, *, timeout: float = 5, query_seconds: float = 5, **given: Any) -> Settings:
    key = SecretStr(CANARY)
    return load_settings(
        openai=OpenAISettings(base_url=server.openai_url, api_key=key, timeout=timeout),
        nomic=NomicSettings(base_url=server.url, api_key=key, timeout=timeout),
        embedding=EmbeddingSettings(query_seconds=query_seconds),
        image_embedding=ImageEmbeddingSettings(**given),
    )


def opened(server: ImageServer, kind: str, *, timeout: float = 5, **given: Any) -> RemoteImageEmbedder:
    _known.clear()  # a port may be that of another test's server
    choice = ModelChoice(kind, "jina-clip-v2" if kind == "openai" else None)  # pyright: ignore[reportArgumentType]
    made = settings(server, timeout=timeout, **given)
    embedder = open_remote_images(made, choice, RetryPolicy(first_wait=QUICK), timeout)
    OPEN.append(embedder)
    return embedder


def opened_as_set(settings: Settings, choice: ModelChoice | None = None) -> ImageEmbedder:
    embedder = open_image_embedder(settings, choice)
    OPEN.append(embedder)
    return embedder


def coloured(name: str) -> Pixels:
    rgb = tuple(round(255 * each) for each in COLOURS[name])
    return np.full((40, 60, 3), rgb, np.uint8)


PICTURES = [coloured(name) for name in COLOURS]


@pytest.fixture
def server() -> Iterator[ImageServer]:
    with ImageServer() as running:
        yield running
    while OPEN:
        OPEN.pop().close()


@pytest.fixture(params=KINDS)
def embedder(server: ImageServer, request: pytest.FixtureRequest) -> RemoteImageEmbedder:
    return opened(server, request.param)


def test_text_finds_images(server: ImageServer, embedder: RemoteImageEmbedder) -> None:
    stored = embedder.embed_images(PICTURES)
    assert stored.dtype == np.float32
    assert stored.shape == (len(PICTURES), embedder.identity.dimensions)
    assert np.allclose(np.linalg.norm(stored, axis=1), 1, atol=1e-6)
    for at, name in enumerate(COLOURS):
        assert (stored @ embedder.embed_query(f"a {name} boat")).argmax() == at
    assert {each.headers["authorization"] for each in server.requests} == {f"Bearer {CANARY}"}
    assert embedder.identity.modality == "image"
    assert embedder.identity.max_tokens > 0


def test_nothing_of_the_stored_file_goes_out(server: ImageServer, embedder: RemoteImageEmbedder) -> None:
    """The JPEG should contain the pixels, but no metadata from the camera."""
    said = exif({0x010E: "A secret boat", 0x0110: "CanaryCam"}, gps=True, taken="2019:07:01 12:00:00")
    stored = encoded(drawn(900, 600), "JPEG", exif=said, comment=b"canary comment")
    assert b"CanaryCam" in stored
    pixels = as_rendered(Image.open(io.BytesIO(stored)), embedder.rendering)
    embedder.embed_images([pixels])
    (sent,) = server.pictures
    picture = Image.open(io.BytesIO(sent))
    assert not any(word in sent for word in (b"Canary", b"canary", b"secret", b"Exif", b"2019", b"http"))
    assert not picture.getexif()
    assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert picture.size == (512, 341)
    assert np.abs(np.asarray(picture).astype(int) - pixels).mean() < 2


def test_each_provider_receives_its_own_request_format(server: ImageServer) -> None:
    for kind in KINDS:
        embedder = opened(server, kind)
        embedder.embed_images(PICTURES[:2])
        embedder.embed_query("red")
    paths = [each.path for each in server.requests]
    assert paths == ["/v1/embedding/image", "/v1/embedding/text", "/v1/embeddings", "/v1/embeddings"]
    form, words, jina, jina_words = (each.body for each in server.requests)
    assert form.keys() == {"images", "names", "model"}  # as the package nomic 3.9.0 sends it
    assert form["model"] == "nomic-embed-vision-v1.5"
    assert form["names"] == [("images", "images")] * 2
    assert len(form["images"]) == 2
    assert (words["model"], words["task_type"], words["texts"]) == (
        "nomic-embed-text-v1.5", "search_query", ["red"],
    )  # fmt: skip
    assert [*jina["input"][0]] == ["image"]
    assert jina_words["input"] == [{"text": "red"}]
    assert not any("dimensions" in each.body for each in server.requests)


@pytest.mark.parametrize(
    ("provider", "model", "size"), [("openai", "jina-clip-v2", 64), ("openai", "own", 32)]
)
def test_requested_dimensions_are_returned(
    server: ImageServer, provider: Any, model: str | None, size: int
) -> None:
    embedder = opened_as_set(settings(server), ModelChoice(provider, model, size))
    assert embedder.embed_images(PICTURES[:1]).shape == (1, size)
    assert embedder.embed_query("red").shape == (size,)
    asked = {each.body.get("dimensions") for each in server.requests}
    assert asked == ({None} if model == "own" else {size})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"provider": "nomic", "model": "nomic-embed-text-v1.5"}, "Choose one of nomic-embed-vision-v1.5"),
        ({"provider": "nomic", "dimensions": 256}, "768 dimensions, not 256"),
        (
            {"provider": "openai", "model": "jina-clip-v2", "dimensions": 300},
            "64, 128, 256, 512, 768, 1024 dimensions, not 300",
        ),
        ({"provider": "openai"}, "KG_IMAGE_EMBEDDING__MODEL is not set"),
        ({"provider": "openai", "model": "own"}, "KG_IMAGE_EMBEDDING__DIMENSIONS"),
    ],
)
def test_unsupported_model_options_are_rejected(
    server: ImageServer, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        opened_as_set(settings(server, **given))


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (ModelChoice("nomic"), "NOMIC_API_KEY is not set"),
        (ModelChoice("openai", "jina-clip-v2"), "OPENAI_BASE_URL"),
    ],
)
def test_a_key_or_an_address_is_needed(choice: ModelChoice, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        opened_as_set(load_settings(), choice)


def test_only_the_faulty_image_is_rejected(server: ImageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = opened(server, "openai")
    bad = f"data:image/jpeg;base64,{base64.b64encode(encode_jpeg(PICTURES[1])).decode()}"
    monkeypatch.setattr(
        server, "next_behaviour", lambda body: Status(422) if {"image": bad} in body["input"] else None
    )
    with pytest.raises(RejectedPictures) as raised:
        embedder.embed_images(PICTURES[:4])
    assert list(raised.value.reasons) == [1]


UNUSABLE: list[tuple[Behaviour, str]] = [
    (Spoil(add_one), r"1 (pictures|texts) were sent, but the server returned 2 vectors"),
    (Spoil(shorten), r"have \d+ dimensions, not \d+. To fix this, set KG_IMAGE_EMBEDDING__DIMENSIONS"),
    (Spoil(fill_last(float("nan"))), "zero or not finite"),
    (Spoil(fill_last("x")), "not a list of numbers|_BASE_URL"),
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
