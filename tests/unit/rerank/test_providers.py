from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import RerankUnavailable
from kg_api.providers.remote_rerank import windows
from kg_api.providers.rerank import Reranker, scale_scores
from tests.support.rerank_server import Drip, Raw, Request, RerankServer, Spoil, Status
from tests.unit.rerank.conftest import CANARY, Open

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
    assert reranker_of(max_characters=200).score(QUERY, ["red", late, "nothing"], seconds=5) == [
        0.25,
        1.0,
        0.0,
    ]
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
    cut = windows(text, most)
    assert all(len(window) <= most for window in cut)
    step = max(1, most - most // 8)
    assert all(text.startswith(window, at * step) for at, window in enumerate(cut))
    assert (len(cut) - 1) * step + len(cut[-1]) == len(text)
    assert all(window for window in cut[1:])
