"""Settings of the reranker that do not go together."""

from __future__ import annotations

import pytest

from kg_api.errors import ConfigurationError
from kg_api.settings import load_settings


def test_a_reranker_of_ones_own_goes_with_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
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
