import time
import traceback
from typing import Any, Literal

import numpy as np
import pytest

from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, InvalidInput, KgError
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.retrying import RetryPolicy
from kg_api.providers.tokens import QUERY_PIECES
from kg_api.schemas.spaces import ModelChoice
from tests.support.behaviours import Behaviour, Drop, Hang, Raw, Spoil, Status, add_one, fill_last, shorten
from tests.support.embedding_server import EmbeddingServer, Request
from tests.support.providers import CANARY, QUICK, Asking, patience

Provider = Literal["openai", "nomic"]
TEXTS = ["The cat sleeps.", "Rates rose.", "A kitten naps."]


def drop_one(reply: dict[str, Any]) -> None:
    (reply.get("data") or reply["embeddings"]).pop()


def asked_for(server: EmbeddingServer, texts: list[str]) -> list[Request]:
    return [each for each in server.requests if texts in (each.body.get("input"), each.body.get("texts"))]


def test_it_works(asking: Asking) -> None:
    found = asking.embedder.embed_passages(TEXTS)
    prefix = "search_document: " if asking.provider == "nomic" else ""
    size = asking.embedder.identity.dimensions
    expected = DeterministicEmbedder(size).embed_passages([prefix + text for text in TEXTS])
    assert found.dtype == np.float32
    assert np.allclose(found, expected, atol=1e-6)
    assert len(asking.server.requests) == 1
    assert asking.server.requests[0].headers["authorization"] == f"Bearer {CANARY}"


PASSING: list[Behaviour] = [
    Status(429), Status(500), Hang(), Drop(mid_body=True), Drop(mid_body=False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "behaviour"), [*(("openai", each) for each in PASSING), ("nomic", Status(503))], ids=str
)
def test_three_tries_are_all(server: EmbeddingServer, provider: Provider, behaviour: Behaviour) -> None:
    server.always = behaviour
    with (
        Asking(provider, server, timeout=patience(behaviour)) as asking,
        pytest.raises(EmbeddingUnavailable) as raised,
    ):
        asking.embedder.embed_passages(TEXTS)
    assert raised.value.retry_after_seconds is None
    assert server.url in str(raised.value)
    assert len(asked_for(server, TEXTS)) == 3
    assert len(server.requests) <= 4, "one more at most, to see whether the texts are at fault"
    assert server.waits[0] >= QUICK
    assert server.waits[1] >= 2 * QUICK


def test_unreachable_server_is_retried(asking: Asking) -> None:
    asking.server.__exit__()
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
        asking.embedder.embed_passages(TEXTS)


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        (Status(400), InvalidInput, "the texts were rejected"),
        (Status(401), ConfigurationError, "_API_KEY"),
        (Status(404), ConfigurationError, "_MODEL or .*_BASE_URL"),
    ],
    ids=str,
)
def test_permanent_error_is_not_retried(
    asking: Asking, behaviour: Status, kind: type[KgError], message: str
) -> None:
    asking.server.always = behaviour
    for call in (lambda: asking.embedder.embed_passages(TEXTS), lambda: asking.embedder.embed_query("cat")):
        asking.server.requests.clear()
        with pytest.raises(kind, match=message):
            call()
        assert len(asked_for(asking.server, TEXTS) or asking.server.requests) == 1
        assert len(asking.server.requests) <= 2


UNUSABLE: list[tuple[Behaviour, str]] = [
    (Spoil(drop_one), "3 texts were sent, but the server returned 2 vectors"),
    (Spoil(add_one), "3 texts were sent, but the server returned 4 vectors"),
    (Spoil(shorten), r"have \d+ dimensions, not \d+"),
    (Spoil(fill_last(float("nan"))), "zero or not finite"),
    (Spoil(fill_last(0)), "zero or not finite"),
    (Spoil(fill_last("x")), "not a list of numbers"),
    (Spoil(fill_last([1])), "one for each token"),
    (Raw(b"<html>Log in</html>", "text/html"), "_BASE_URL"),
    (Raw(b"[]"), "_BASE_URL"),
    (Raw(b"[" * 100_000), "_BASE_URL"),
    (Raw(b'{"data": 3, "embeddings": 3}'), "_BASE_URL"),
    (Raw(b'{"data": [{"embe'), "_BASE_URL"),
]


@pytest.mark.parametrize(("behaviour", "message"), UNUSABLE)
def test_unusable_responses_explain_the_problem(asking: Asking, behaviour: Behaviour, message: str) -> None:
    asking.server.always = behaviour
    with pytest.raises(EmbeddingFailed, match=message):
        asking.embedder.embed_passages(TEXTS)
    forms = {str({**each.body, "input": None, "texts": None}) for each in asking.server.requests}
    assert len(asking.server.requests) == len(forms), "none is sent twice in the same form"


def test_number_of_retries_is_configurable(server: EmbeddingServer) -> None:
    with Asking("openai", server, max_retries=0) as asking:
        server.always = Status(500)
        embedder = asking.opener(asking.settings, ModelChoice("openai"))
        with pytest.raises(EmbeddingUnavailable):
            embedder.embed_passages(TEXTS)
        embedder.close()
    assert len(asked_for(server, TEXTS)) == 1


@pytest.mark.parametrize("behaviour", [Hang(), Status(503), Status(429, retry_after="3")], ids=str)
def test_a_question_has_a_deadline_of_its_own(server: EmbeddingServer, behaviour: Behaviour) -> None:
    with Asking("openai", server, timeout=30, query_seconds=0.6) as asking:
        server.always = behaviour
        embedder = asking.opener(asking.settings, ModelChoice("openai"), RetryPolicy(first_wait=0.2))
        begun = time.monotonic()
        with pytest.raises(EmbeddingUnavailable):
            embedder.embed_query("cats")
        assert time.monotonic() - begun < 2.9
        embedder.close()


def test_no_text_is_sent_when_one_is_wrong(asking: Asking) -> None:
    for wrong in ("", " \n", "\ud800", "word " * 9000):
        with pytest.raises(InvalidInput):
            asking.embedder.embed_passages(["fine", wrong])
    with pytest.raises(InvalidInput):
        asking.embedder.embed_query(" ")
    assert asking.server.requests == []


def test_passages_are_sent_in_batches_and_ordered(asking: Asking) -> None:
    texts = [f"text number {n}" for n in range(250)]
    found = asking.embedder.embed_passages(texts)
    sent = [request.body.get("input") or request.body["texts"] for request in asking.server.requests]
    assert [len(each) for each in sent] == [100, 100, 50]
    assert [text for each in sent for text in each] == texts
    for at in (0, 99, 100, 249):
        assert np.allclose(found[at], asking.embedder.embed_passages([texts[at]])[0], atol=1e-6)


def test_a_batch_is_bounded_by_tokens_too(patient: Asking) -> None:
    texts = ["word " * 8000] * 40
    patient.embedder.embed_passages(texts)
    sent = [request.body.get("input") or request.body["texts"] for request in patient.server.requests]
    assert [len(each) for each in sent] == [37, 3]


def test_very_long_query_is_sent_in_few_pieces(patient: Asking) -> None:
    vector = patient.embedder.embed_query("cats and dogs. " * 20_000)  # ten pieces
    sent = patient.server.requests[-1].body
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-6)
    assert len(patient.server.requests) == 1
    assert 1 < len(sent.get("input") or sent["texts"]) <= QUERY_PIECES


@pytest.mark.parametrize("provider", ["openai", "nomic"])
@pytest.mark.parametrize(
    "behaviour",
    [
        *(Status(status, message=f"bad key {CANARY}: {TEXTS[0]}", code=CANARY) for status in (400, 401, 404)),
        Status(500, message=CANARY),
        Hang(),
        Drop(),
        Raw(CANARY.encode(), "text/plain"),
        Spoil(shorten),
    ],
    ids=lambda given: type(given).__name__,
)
def test_key_and_texts_stay_out_of_errors(
    server: EmbeddingServer,
    provider: Provider,
    behaviour: Behaviour,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.always = behaviour
    with (
        Asking(provider, server, timeout=patience(behaviour)) as asking,
        caplog.at_level("DEBUG", "kg_api"),
        pytest.raises(KgError) as raised,
    ):
        asking.embedder.embed_passages(TEXTS)
    chain = "".join(traceback.format_exception(raised.value))
    assert raised.value.__context__ is None
    shown = f"{chain} {raised.value!r} {asking.embedder!r} {vars(asking.embedder)} {asking.settings!r}"
    shown += "".join(capfd.readouterr()) + caplog.text
    assert CANARY not in shown
    assert TEXTS[0] not in shown
