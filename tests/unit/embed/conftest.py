"""The weights come from the per-user cache (or KG_CACHE): fetched once, by the first test that wants them."""

from dataclasses import replace
from pathlib import Path

import pytest

from kg_api.embed.catalogue import DEFAULT
from kg_api.embed.local import LocalEmbedder
from kg_api.embed.packaged import ensure_model
from kg_api.settings import load_settings


@pytest.fixture(scope="session")
def model_folder() -> Path:
    return ensure_model(load_settings())


@pytest.fixture(scope="session")
def local(model_folder: Path) -> LocalEmbedder:
    return LocalEmbedder(model_folder, DEFAULT.spec, threads=2)


@pytest.fixture(scope="session")
def short(model_folder: Path) -> LocalEmbedder:
    """The same model, pretending to take 32 tokens: long texts come cheap."""
    return LocalEmbedder(model_folder, replace(DEFAULT.spec, max_tokens=32), threads=2)
