"""Extras: one error names all that is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers import extras
from kg_api.providers.extras import PACKAGES, is_installed, missing, require_extras
from kg_api.sections import RerankSettings
from kg_api.settings import BlobSettings, ConversionSettings, EmbeddingSettings, S3Settings, load_settings

WANTED: dict[str, dict[str, Any]] = {
    "s3": {"blobs": BlobSettings(s3=S3Settings(bucket="pictures"))},
    "ocr": {"conversion": ConversionSettings(ocr="rapidocr")},
    "openai": {"embedding": EmbeddingSettings(provider="openai")},
    "rerank": {"rerank": RerankSettings(provider="local")},
}


@pytest.mark.parametrize("extra", PACKAGES)
def test_extra_is_found_where_it_is_installed(extra: str) -> None:
    assert is_installed(extra)
    assert f"'.[{extra}]'" in str(missing(extra))


def test_start_with_all_packages_is_fine() -> None:
    require_extras(load_settings(**{name: value for each in WANTED.values() for name, value in each.items()}))


def test_start_names_all_settings_and_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    require_extras(load_settings())
    given = {name: value for each in WANTED.values() for name, value in each.items()}
    with pytest.raises(ConfigurationError) as raised:
        require_extras(load_settings(**given))
    said = str(raised.value)
    for variable in (
        "KG_BLOBS__S3__BUCKET",
        "KG_CONVERSION__OCR",
        "KG_EMBEDDING__PROVIDER",
        "KG_RERANK__PROVIDER",
    ):
        assert variable in said
    assert "pip install '.[ocr,openai,rerank,s3]'" in said


def test_another_model_or_folder_needs_no_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    other = EmbeddingSettings(provider="openai", model="bge-m3")
    require_extras(
        load_settings(embedding=other, rerank=RerankSettings(provider="local", model_dir=tmp_path))
    )
