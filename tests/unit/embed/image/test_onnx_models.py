from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from kg_api.errors import ConfigurationError
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.settings import ImageEmbeddingSettings, Settings, load_settings
from tests.support.image_changes import as_rendered
from tests.support.image_models import COLOURS, DIMENSIONS, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("models")
    write_model(parent / "colours")
    return parent


def settings(folder: Path, **given: Any) -> Settings:
    return load_settings(image_embedding=ImageEmbeddingSettings(provider="onnx", folder=folder, **given))


def coloured(name: str) -> Image.Image:
    wide = Image.new("RGB", (300, 100))
    wide.paste(tuple(round(255 * each) for each in COLOURS[name]), (95, 0, 205, 100))
    return wide


def test_text_finds_image_of_its_colour(folder: Path) -> None:
    embedder = open_image_embedder(settings(folder))
    pictures = [as_rendered(coloured(name), embedder.rendering) for name in COLOURS]
    stored = embedder.embed_images(pictures)
    for at, name in enumerate(COLOURS):
        for words in (name, f"a {name.upper()} boat", f"{name} " * 40):
            query = embedder.embed_query(words)
            assert (stored @ query).argmax() == at
            assert np.linalg.norm(query) == pytest.approx(1)
    embedder.close()


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("states", [False, True])
def test_towers_of_every_kind_are_described(tmp_path: Path, *, states: bool, half: bool) -> None:
    write_model(tmp_path / "m", states=states, half=half)
    embedder = open_image_embedder(settings(tmp_path, model="m", query_prefix="search_query: "))
    assert embedder.identity.query_prefix == "search_query: "
    assert embedder.identity.max_tokens == 16
    blue = embedder.embed_images([as_rendered(coloured("blue"), embedder.rendering)])[0]
    assert blue @ embedder.embed_query("blue") == pytest.approx(1, abs=1e-3)


def test_model_without_text_tower_embeds_only_images(tmp_path: Path) -> None:
    write_model(tmp_path / "m", text=False)
    embedder = open_image_embedder(settings(tmp_path))
    assert embedder.identity.max_tokens == 0
    assert embedder.embed_images([as_rendered(coloured("red"), embedder.rendering)]).shape == (1, DIMENSIONS)
    with pytest.raises(ConfigurationError, match="cannot embed text"):
        embedder.embed_query("red")


@pytest.mark.parametrize(
    "name", ["vision_model.onnx_data", "text_model.onnx_data", "tokenizer.json", "preprocessor_config.json"]
)
def test_changed_files_change_the_revision(tmp_path: Path, name: str) -> None:
    path = write_model(tmp_path / "m") / name
    before = open_image_embedder(settings(tmp_path)).identity.revision
    path.write_bytes((path.read_bytes() if path.is_file() else b"") + b" ")
    assert open_image_embedder(settings(tmp_path)).identity.revision != before


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("vision_model.onnx", r"needs \['input_ids'\]"),
        ("preprocessor_config.json", "cannot be followed"),
        ("tokenizer.json", "tokenizer"),
    ],
)
def test_wrong_files_are_rejected(tmp_path: Path, name: str, told: str) -> None:
    model = write_model(tmp_path / "m")
    (model / name).write_bytes((model / "text_model.onnx").read_bytes())
    with pytest.raises(ConfigurationError, match=told):
        open_image_embedder(settings(tmp_path))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("other", "is not a model in .* Available: colours"),
        ("../colours", "is not a model in"),
        (".", "is not a model in"),
    ],
)
def test_missing_model_is_rejected(folder: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"KG_IMAGE_EMBEDDING__MODEL.*{told}"):
        open_image_embedder(settings(folder, model=name))
