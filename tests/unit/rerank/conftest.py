from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from kg_api.providers.rerank import Reranker, open_reranker
from kg_api.sections import CohereSettings, RerankSettings
from kg_api.settings import load_settings
from tests.support.rerank_server import RerankServer

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
