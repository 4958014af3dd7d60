"""What is an endpoint's own: two forms of one protocol, and a key that may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kg_api.errors import RerankUnavailable
from kg_api.providers.rerank import Reranker, open_reranker
from kg_api.sections import RerankSettings
from kg_api.settings import load_settings
from tests.support.rerank_server import Raw, RerankServer, Status

Asking = Callable[..., Reranker]
TEXTS = ["one", "two", "one two"]
RIGHT = [0.5, 0.5, 1.0]


@pytest.fixture
def asking(server: RerankServer) -> Iterator[Asking]:
    """Opens rerankers that ask the server, below a path of it."""
    with ExitStack() as stack:

        def opened(path: str = "") -> Reranker:
            settings = load_settings(rerank=RerankSettings(base_url=server.url + path))
            reranker = open_reranker(settings)
            assert reranker is not None
            stack.callback(reranker.close)
            return reranker

        yield opened


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v2/"])
def test_the_address_is_that_before_rerank(server: RerankServer, asking: Asking, path: str) -> None:
    assert asking(path).score("one two", TEXTS, seconds=5) == RIGHT
    assert server.requests[0].path == f"{path.rstrip('/')}/rerank"


def test_without_key_and_model_none_is_sent(server: RerankServer, asking: Asking) -> None:
    asking().score("one two", TEXTS, seconds=5)
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].body == {"query": "one two", "documents": TEXTS, "top_n": 3}


def test_the_form_is_found_out_once(server: RerankServer, asking: Asking) -> None:
    server.speaks_tei = True
    reranker = asking()
    for _ in range(2):
        assert reranker.score("one two", TEXTS, seconds=5) == RIGHT
    assert ["texts" in each.body for each in server.requests] == [False, True, True]
    assert server.requests[-1].body == {"query": "one two", "texts": TEXTS}


def test_a_server_that_takes_neither_form_is_told_of(server: RerankServer, asking: Asking) -> None:
    server.always = Status(422)
    with pytest.raises(RerankUnavailable, match=r"answered 422.*KG_RERANK__MAX_CHARACTERS"):
        asking().score("one two", TEXTS, seconds=5)
    assert len(server.requests) == 2


def test_a_form_is_not_settled_by_a_failure(server: RerankServer, asking: Asking) -> None:
    server.speaks_tei = True
    reranker = asking()
    server.then(Raw(b"oops"))  # for its own form; the other one is not understood at all
    with pytest.raises(RerankUnavailable):
        reranker.score("one two", TEXTS, seconds=5)
    assert reranker.score("one two", TEXTS, seconds=5) == RIGHT
