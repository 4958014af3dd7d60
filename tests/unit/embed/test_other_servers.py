import base64
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder, open_embedder
from kg_api.providers.embedding_port import RejectedTexts
from kg_api.providers.remote_embedding import KNOWN_GOOD, decode_vector, list_learned, sort_vectors
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import EmbeddingSettings, load_settings
from tests.support.behaviours import Behaviour, Drop, Hang, Raw, Spoil, Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY, Asking

SIZE = 64
CHOICE = ModelChoice("openai", "m", SIZE)
MANY = [f"text number {n} of all" for n in range(300)]


class OtherServer(EmbeddingServer):
    def __init__(self) -> None:
        super().__init__(dimensions={"m": SIZE})
        self.rule: Callable[[dict[str, Any]], Behaviour | None] = lambda _: None

    def next_behaviour(self, body: dict[str, Any]) -> Behaviour | None:
        return self.rule(body)

    @property
    def batches(self) -> list[int]:
        return [len(each.body["input"]) for each in self.requests]


@pytest.fixture
def other() -> Iterator[OtherServer]:
    with OtherServer() as running:
        yield running


@pytest.fixture
def asking(other: OtherServer) -> Iterator[Asking]:
    with Asking("openai", other, embed_model="m", embed_dims=SIZE, timeout=2) as opened:
        yield opened


def assert_vectors(found: np.ndarray, texts: Sequence[str], size: int = SIZE) -> None:
    np.testing.assert_allclose(found, DeterministicEmbedder(size).embed_passages(texts), atol=1e-6)


def at_most(texts: int, status: int = 400, message: str = "") -> Callable[[dict[str, Any]], Behaviour | None]:
    return lambda body: Status(status, message=message) if len(body["input"]) > texts else None


@pytest.mark.parametrize(("status", "limit"), [(400, 1), (413, 2), (422, 10)])
def test_unnamed_limit_is_found_by_halving_and_kept(
    other: OtherServer, asking: Asking, status: int, limit: int
) -> None:
    other.rule = at_most(limit, status, "bad request")
    texts = MANY[:60]
    assert_vectors(asking.embedder.embed_passages(texts), texts)
    other.requests.clear()
    assert_vectors(asking.embedder.embed_passages(texts), texts)
    assert max(other.batches) <= limit, "none is rejected any more"
    (note,) = list_learned()
    assert f"at most {max(other.batches)} texts per request. Set OPENAI_BATCH_SIZE=" in note


@pytest.mark.parametrize(
    "fault", [Status(500, message="out of memory"), Drop(mid_body=False), Hang()], ids=str
)
def test_size_that_gets_no_answer_is_learned(other: OtherServer, fault: Behaviour) -> None:
    other.rule = lambda body: fault if len(body["input"]) > 10 else None
    timeout = 0.3 if isinstance(fault, Hang) else 5
    with Asking("openai", other, embed_model="m", embed_dims=SIZE, timeout=timeout) as asking:
        assert_vectors(asking.embedder.embed_passages(MANY[:60]), MANY[:60])
        assert sum(each > 10 for each in other.batches) == 3 + 2 + 4, "halves of 30 and 15 are sent once"
        other.requests.clear()
        assert_vectors(asking.embedder.embed_passages(MANY[:60]), MANY[:60])
    assert max(other.batches) <= 10
    assert "Set OPENAI_BATCH_SIZE=8" in list_learned()[0]


def test_query_reaches_server_of_one_text_per_request(other: OtherServer, asking: Asking) -> None:
    other.rule = at_most(1)
    rows = asking.embedder.embed_probed(["where is it?"], "the probe", query=True)
    assert_vectors(rows, ["where is it?", "the probe"])


FAULTS: list[Behaviour] = [
    Status(500, message="failed to encode response: json: unsupported value: NaN"),
    Status(502),
    Status(503),
    Status(504),
    Drop(mid_body=False),
    Drop(mid_body=True),
    Hang(),
    Status(400, message="no"),
    Raw(b'{"error": {"message": "boom", "code": 500}}'),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("bad", [{0, 24}], ids=str)
def test_texts_that_the_server_fails_on_are_named(
    other: OtherServer, fault: Behaviour, bad: set[int]
) -> None:
    texts = MANY[:50]
    at_fault = {texts[n] for n in bad}
    other.rule = lambda body: fault if at_fault & set(body["input"]) else None
    timeout = 0.3 if isinstance(fault, Hang) else 5
    with Asking("openai", other, embed_model="m", embed_dims=SIZE, timeout=timeout) as asking:
        with pytest.raises(RejectedTexts) as raised:
            asking.embedder.embed_passages(texts)
        assert set(raised.value.reasons) == at_fault
        assert all(other.url in reason for reason in raised.value.reasons.values())
        assert len(other.requests) <= 1 + 3 + len(bad) * (2 * 6 + 3)
        rest = [text for text in texts if text not in at_fault]
        assert_vectors(asking.embedder.embed_passages(rest), rest)
        assert list_learned() == []


@pytest.mark.parametrize("fault", [Status(500), Status(503), Drop(mid_body=False), Status(400)], ids=str)
def test_a_dead_server_gets_one_more_small_request(
    other: OtherServer, asking: Asking, fault: Behaviour
) -> None:
    other.rule = lambda _: fault
    with pytest.raises((EmbeddingUnavailable, InvalidInput)) as raised:
        asking.embedder.embed_passages(MANY[:50])
    assert not isinstance(raised.value, RejectedTexts)
    assert other.requests[-1].body["input"] == [KNOWN_GOOD]
    assert len(other.requests) == (2 if fault == Status(400) else 4)


@pytest.mark.parametrize("fault", [Status(429), Status(503, retry_after="0.01")], ids=str)
def test_rate_limit_does_not_reject_text(other: OtherServer, asking: Asking, fault: Behaviour) -> None:
    other.rule = lambda body: fault if len(body["input"]) > 1 else None
    with pytest.raises(EmbeddingUnavailable):
        asking.embedder.embed_passages(MANY[:50])
    assert other.batches == [50] * 3


@pytest.mark.parametrize(
    "answer",
    [
        Status(400, message="encoding_format: only float is supported"),
        Status(422, param="encoding_format"),
        Status(400, message="extra fields not permitted: base64"),
        Status(500, message="unknown encoding_format base64"),
        Raw(b'{"error": {"message": "base64 is not supported", "code": 400}}'),
    ],
    ids=str,
)
def test_plain_numbers_are_requested_where_base64_fails(
    other: OtherServer, asking: Asking, answer: Behaviour
) -> None:
    other.rule = lambda body: answer if "encoding_format" in body else None
    for _ in range(2):
        assert_vectors(asking.embedder.embed_passages(MANY[:3]), MANY[:3])
    assert ["encoding_format" in each.body for each in other.requests] == [True, False, False]


@pytest.mark.parametrize("status", [400, 422])
def test_dimensions_are_omitted_if_the_server_rejects_them(other: OtherServer, status: int) -> None:
    said = "Model does not support matryoshka representation, changing output dimensions"
    other.rule = lambda body: Status(status, message=said) if "dimensions" in body else None
    other.dimensions["text-embedding-3-small"] = 256
    with Asking("openai", other, embed_dims=256) as asking:
        for _ in range(2):
            assert_vectors(asking.embedder.embed_passages(["a"]), ["a"], 256)
        assert ["dimensions" in each.body for each in other.requests] == [True, False, False]
    other.dimensions["text-embedding-3-small"] = 1536
    with (
        Asking("openai", other, embed_dims=256) as asking,
        pytest.raises(EmbeddingFailed, match=r"1536 dimensions, not 256. To fix this, set OPENAI_EMBED_DIMS"),
    ):
        asking.embedder.embed_passages(["a"])


def test_dimensions_are_sent_if_the_server_returns_another_size(other: OtherServer, asking: Asking) -> None:
    other.dimensions["m"] = 2 * SIZE
    for _ in range(2):
        assert_vectors(asking.embedder.embed_passages(["a"]), ["a"])
    assert [each.body.get("dimensions") for each in other.requests] == [None, SIZE, SIZE]
    other.shortens = False
    with pytest.raises(EmbeddingFailed, match=r"128 dimensions, not 64.*the server ignores `dimensions`"):
        asking.embedder.embed_passages(["a"])


def nest(reply: dict[str, Any]) -> None:
    for item in reply["data"]:
        item["embedding"] = [item["embedding"]]


def per_token(reply: dict[str, Any]) -> None:
    for item in reply["data"]:
        item["embedding"] = [item["embedding"], item["embedding"]]


def test_nested_vectors_are_accepted_but_token_vectors_rejected(other: OtherServer, asking: Asking) -> None:
    other.knows_base64 = False
    other.rule = lambda _: Spoil(nest)
    assert_vectors(asking.embedder.embed_passages(MANY[:3]), MANY[:3])
    other.rule = lambda _: Spoil(per_token)
    with pytest.raises(EmbeddingFailed, match="one for each token"):
        asking.embedder.embed_passages(MANY[:3])


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        (
            b'{"error": "Unexpected endpoint or method. (POST /embeddings)"}',
            EmbeddingUnavailable,
            "returned 500",
        ),
        (b'{"error": {"message": "no", "code": 401}}', ConfigurationError, "OPENAI_API_KEY"),
        (
            b'{"error": {"message": "no", "type": "invalid_request_error"}}',
            InvalidInput,
            "invalid_request_error",
        ),
    ],
)
def test_an_error_with_status_200_is_one(
    other: OtherServer, asking: Asking, body: bytes, error: type[Exception], said: str
) -> None:
    other.rule = lambda _: Raw(body)
    with pytest.raises(error, match=said):
        asking.embedder.embed_passages(["a"])


def test_url_without_path_has_an_explanation(other: OtherServer) -> None:
    with Asking("openai", other) as asking:
        settings = asking.settings.model_copy(
            update={"openai": asking.settings.openai.model_copy(update={"base_url": other.url})}
        )
        embedder = asking.opener(settings, CHOICE)
        with pytest.raises(ConfigurationError, match=r"OPENAI_BASE_URL has no path.*such as /v1"):
            embedder.embed_passages(["a"])
        embedder.close()


@pytest.mark.parametrize(
    ("indexes", "order"),
    [
        ([None, None, None], [0, 1, 2]),
        ([2, None, 1], [1, 2, 0]),
        ([None, 1, None], [0, 1, 2]),
        (["1", "0", "2"], [1, 0, 2]),
        ([None, "2", "1"], [0, 2, 1]),
    ],
)
def test_missing_indexes_are_filled(indexes: list[object], order: list[int]) -> None:
    assert sort_vectors(indexes) == order


@pytest.mark.parametrize("indexes", [[0, 0, 1], [0, 1, 3], [None, 2, 1, None], [None, 0.5, 1]])
def test_contradictory_indexes_are_rejected(indexes: list[object]) -> None:
    with pytest.raises(EmbeddingFailed, match="index"):
        sort_vectors(indexes)


def test_vector_that_is_not_base64_is_rejected() -> None:
    for text in ("!", base64.b64encode(b"12345").decode()):
        with pytest.raises(EmbeddingFailed, match="not base64 of float32 numbers"):
            decode_vector(text)


TEXTS = [f"text number {n}" for n in range(7)]


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
def test_nomic_receives_what_its_own_client_sends(server: EmbeddingServer, task: str) -> None:
    """The bodies were recorded from the package nomic 3.9.0."""
    with Asking("nomic", server, ModelChoice("nomic", None, 128)) as asking:
        for text in SENTENCES:
            if task == "search_query":
                asking.embedder.embed_query(text)
            else:
                asking.embedder.embed_passages([text])
    same = {"model": "nomic-embed-text-v1.5", "task_type": task, "dimensionality": 128}
    expected = [{"texts": [text], "long_text_mode": "mean", **same} for text in SENTENCES]
    assert [each.body for each in server.requests] == expected
    assert {each.path for each in server.requests} == {"/v1/embedding/text"}
    assert {each.headers["authorization"] for each in server.requests} == {f"Bearer {CANARY}"}
