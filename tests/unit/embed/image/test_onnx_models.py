"""Picture models in a folder: real graphs, what a folder must say, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.providers.embedding_port import Pixels
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.providers.local_images import PROFILE, OnnxImageEmbedder
from kg_api.schemas.spaces import ImageModelChoice
from kg_api.settings import ImageEmbeddingSettings, Settings, load_settings
from tests.support.image_changes import as_rendered
from tests.support.image_models import COLOURS, DIMENSIONS, SIDE, described, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of models, with one in it."""
    parent = tmp_path_factory.mktemp("models")
    described(write_model(parent / "colours"))
    return parent


def settings(folder: Path, **given: Any) -> Settings:
    return load_settings(image_embedding=ImageEmbeddingSettings(provider="onnx", folder=folder, **given))


def coloured(name: str) -> Image.Image:
    """Of that colour in the middle, which is cut out, and black beside it."""
    wide = Image.new("RGB", (300, 100))
    wide.paste(tuple(round(255 * each) for each in COLOURS[name]), (95, 0, 205, 100))
    return wide


def test_words_find_the_picture_of_their_colour(folder: Path) -> None:
    embedder = open_image_embedder(settings(folder))
    assert embedder.reads_text
    pictures = [as_rendered(coloured(name), embedder.rendering) for name in COLOURS]
    stored = embedder.embed_images(pictures)
    for at, name in enumerate(COLOURS):
        for words in (name, f"a {name.upper()} boat", f"{name} " * 40):
            query = embedder.embed_query(words)
            assert (stored @ query).argmax() == at
            assert np.linalg.norm(query) == pytest.approx(1)
    embedder.close()


def test_the_vector_is_what_the_graph_computes(folder: Path) -> None:
    """Resized, cut out, scaled, normalised: the mean colour comes out as it went in."""
    embedder = open_image_embedder(settings(folder))
    red = embedder.embed_images([as_rendered(coloured("red"), embedder.rendering)])[0]
    assert red @ embedder.embed_query("red") == pytest.approx(1, abs=1e-4)
    assert embedder.identity.dimensions == DIMENSIONS == red.size
    assert (embedder.rendering.width, embedder.rendering.height, embedder.rendering.fit) == (
        SIDE,
        SIDE,
        "cover",
    )
    embedder.close()


def test_vectors_are_the_same_alone_in_a_batch_and_from_threads(folder: Path) -> None:
    embedder = open_image_embedder(settings(folder))
    rng = np.random.default_rng(2)
    pictures: list[Pixels] = list(rng.integers(0, 256, (20, SIDE, SIDE, 3), np.uint8))
    together = embedder.embed_images(pictures)
    with ThreadPoolExecutor(4) as threads:
        alone = np.concatenate(list(threads.map(lambda each: embedder.embed_images([each]), pictures)))
    assert np.array_equal(together, alone)
    again = open_image_embedder(settings(folder))
    assert np.array_equal(again.embed_images(pictures), together)
    assert again.identity == embedder.identity
    assert embedder.embed_images([]).shape == (0, DIMENSIONS)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("states", [False, True])
def test_towers_of_every_kind_are_described(tmp_path: Path, *, states: bool, half: bool) -> None:
    model = described(
        write_model(tmp_path / "m", states=states, half=half), "--query-prefix", "search_query: "
    )
    embedder = open_image_embedder(settings(tmp_path, model="m"))
    said = json.loads((model / PROFILE).read_text())
    assert said["picture"]["pooling"] == ("cls" if states else "none")
    assert said["text"]["pooling"] == ("mean" if states else "none")
    assert embedder.identity.query_prefix == "search_query: "
    assert embedder.identity.max_tokens == 16
    blue = embedder.embed_images([as_rendered(coloured("blue"), embedder.rendering)])[0]
    assert blue @ embedder.embed_query("blue") == pytest.approx(1, abs=1e-3)


def test_texts_are_filled_up_where_a_model_was_trained_so(tmp_path: Path) -> None:
    """SigLIP: 64 tokens, filled; here the filling has no colour, and a mean is of the text's own tokens."""
    model = write_model(tmp_path / "m", states=True)
    (model / "config.json").write_text('{"model_type": "siglip"}', encoding="utf-8")
    described(model)
    said = json.loads((model / PROFILE).read_text())["text"]
    assert (said["pad_to"], said["max_tokens"]) == (64, 64)
    embedder = open_image_embedder(settings(tmp_path))
    blue = embedder.embed_images([as_rendered(coloured("blue"), embedder.rendering)])[0]
    assert blue @ embedder.embed_query("blue") == pytest.approx(1, abs=1e-4)


def test_a_model_without_a_text_tower_finds_pictures_by_pictures(tmp_path: Path) -> None:
    described(write_model(tmp_path / "m", text=False))
    embedder = open_image_embedder(settings(tmp_path))
    assert not embedder.reads_text
    assert embedder.identity.max_tokens == 0
    assert embedder.embed_images([as_rendered(coloured("red"), embedder.rendering)]).shape == (1, DIMENSIONS)
    with pytest.raises(ConfigurationError, match="reads no text"):
        embedder.embed_query("red")


@pytest.mark.parametrize("text", ["", " \n", "\ud800"])
def test_words_that_are_none_are_refused(folder: Path, text: str) -> None:
    embedder = open_image_embedder(settings(folder))
    with pytest.raises(InvalidInput):
        embedder.embed_query(text)


def test_pictures_that_were_unpacked_otherwise_are_refused(folder: Path) -> None:
    embedder = open_image_embedder(settings(folder))
    with pytest.raises(InvalidInput, match="picture 0 has shape"):
        embedder.embed_images([np.zeros((SIDE, SIDE + 1, 3), np.uint8)])


def test_the_command_says_what_it_wrote_or_what_is_missing(tmp_path: Path) -> None:
    model = write_model(tmp_path / "m")
    command = [sys.executable, "-m", "kg_api.providers.local_images", str(model)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(model / PROFILE)
    (model / "preprocessor_config.json").unlink()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "preprocessor_config.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_files_are_another_model(tmp_path: Path) -> None:
    described(write_model(tmp_path / "one"))
    described(write_model(tmp_path / "two", text=False))
    both = [open_image_embedder(settings(tmp_path, model=name)).identity for name in ("one", "two")]
    assert both[0].revision != both[1].revision
    assert both[0].fingerprint != both[1].fingerprint


@pytest.mark.parametrize(
    "name", ["vision_model.onnx", "text_model.onnx", "tokenizer.json", "preprocessor_config.json"]
)
def test_a_file_that_was_exchanged_is_refused(tmp_path: Path, name: str) -> None:
    model = described(write_model(tmp_path / "m"))
    (model / name).write_bytes((model / name).read_bytes() + b" ")
    with pytest.raises(ConfigurationError, match=rf"{name} is another file"):
        open_image_embedder(settings(tmp_path))
    (model / name).unlink()
    with pytest.raises(ConfigurationError, match=rf"{name} cannot be read"):
        open_image_embedder(settings(tmp_path))


def test_weights_that_are_not_described_are_refused(tmp_path: Path) -> None:
    model = described(write_model(tmp_path / "m"))
    (model / "vision_model.onnx_data").write_bytes(b"weights")
    with pytest.raises(ConfigurationError, match=r"says nothing of vision_model\.onnx_data"):
        open_image_embedder(settings(tmp_path))
    described(model)
    open_image_embedder(settings(tmp_path))


def rewrite(path: Path, change: dict[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"dimensions": 9}, "does not hold a model as"),
        ({"dimensions": 0}, "dimensions"),
        ({"magic": 1}, "magic"),
        ({"picture": {"file": "vision_model.onnx", "output": "logits"}}, "gives image_embeds, not logits"),
        ({"picture": {"file": "../../x.onnx", "output": "image_embeds"}}, "path of a file in the folder"),
        ({"picture": {"file": "/etc/passwd", "output": "image_embeds"}}, "path of a file in the folder"),
        ({"picture": {"file": "text_model.onnx", "output": "text_embeds"}}, r"wants \['input_ids'\]"),
        (
            {"picture": {"file": "vision_model.onnx", "output": "image_embeds", "pooling": "cls"}},
            "no cls can be taken",
        ),
        ({"sha256": {}}, "says nothing of"),
        ({"preprocessor": "tokenizer.json"}, "cannot be followed"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    model = described(write_model(tmp_path / "m"))
    rewrite(model / PROFILE, change)
    with pytest.raises(ConfigurationError, match=told):
        open_image_embedder(settings(tmp_path))


def test_a_description_that_is_no_json_is_refused(tmp_path: Path) -> None:
    model = described(write_model(tmp_path / "m"))
    (model / PROFILE).write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"kg-model\.json is wrong"):
        open_image_embedder(settings(tmp_path))


@pytest.mark.parametrize(
    ("name", "told"),
    [("other", "has no model other; it has colours"), ("../colours", "has no model"), (".", "has no model")],
)
def test_a_model_that_is_not_there_is_refused(folder: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"KG_IMAGE_EMBEDDING__MODEL: .*{told}"):
        open_image_embedder(settings(folder, model=name))


def test_a_folder_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="KG_IMAGE_EMBEDDING__FOLDER is not set"):
        open_image_embedder(load_settings(), ImageModelChoice("onnx", "colours"))
    with pytest.raises(ConfigurationError, match="none of its subfolders has a"):
        open_image_embedder(settings(tmp_path))
    write_model(tmp_path / "m")
    with pytest.raises(ConfigurationError, match=r"kg-model\.json is not there"):
        OnnxImageEmbedder(tmp_path / "m")


def test_vectors_of_another_size_are_not_to_be_had(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="8 numbers, not 16"):
        open_image_embedder(settings(folder, dimensions=16))


def test_what_no_file_says_has_to_be_told(tmp_path: Path) -> None:
    model = write_model(tmp_path / "m")
    (model / "tokenizer_config.json").unlink()
    with pytest.raises(ConfigurationError, match="add --max-tokens"):
        described(model)
    described(model, "--max-tokens", "20")
    assert open_image_embedder(settings(tmp_path)).identity.max_tokens == 20
    (model / "vision_model.onnx").unlink()
    with pytest.raises(ConfigurationError, match=r"has no vision_model\.onnx"):
        described(model)
