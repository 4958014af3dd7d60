import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding_port import ImageEmbedder, draw_probe_image
from kg_api.providers.image_embedding import open_image_embedder
from kg_api.providers.local_images import read_preprocessing
from kg_api.providers.pixels import DIMENSIONS, HistogramEmbedder
from kg_api.schemas.spaces import ModelChoice
from kg_api.settings import load_settings
from tests.support.image_changes import CHANGES, Change, as_rendered, photographs
from tests.support.image_models import PREPROCESSOR

EMBEDDER = HistogramEmbedder()


def scene(seed: int) -> Image.Image:
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (6, 8, 3), np.uint8)
    picture = Image.fromarray(noise).resize((400, 300), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y, size = (int(each) for each in rng.integers((0, 0, 20), (400, 300, 120)))
        draw = (pen.ellipse, pen.rectangle)[int(rng.integers(2))]
        colour = tuple(int(each) for each in rng.integers(0, 256, 3))
        draw((x, y, x + size, y + size), fill=colour)
    return picture


def vectors(pictures: list[Image.Image]) -> np.ndarray:
    return EMBEDDER.embed_images([as_rendered(picture, EMBEDDER.rendering) for picture in pictures])


@pytest.fixture(scope="module")
def scenes() -> list[Image.Image]:
    return [scene(seed) for seed in range(24)]


def recall(originals: list[Image.Image], stored: np.ndarray, change: Change) -> float:
    """Compute how often a change of every other original is nearest to it."""
    nearest = [
        (vectors(change(originals[at])) @ stored.T).argmax(axis=1) == at for at in range(0, len(originals), 2)
    ]
    return float(np.mean(np.concatenate(nearest)))


def test_changed_images_find_their_originals(scenes: list[Image.Image]) -> None:
    photos = list(photographs().values())  # their folder may be missing
    for originals in filter(None, (scenes[:12], photos[:12])):
        stored = vectors(originals)
        found = {name: recall(originals, stored, change) for name, change in CHANGES.items()}
        assert {name: share for name, share in found.items() if share < 0.95} == {}


def test_vectors_are_normalized_and_independent_of_batches(scenes: list[Image.Image]) -> None:
    together = vectors(scenes)
    assert together.dtype == np.float32
    assert together.shape == (len(scenes), DIMENSIONS) == (24, EMBEDDER.identity.dimensions)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    with ThreadPoolExecutor(4) as threads:
        alone = list(threads.map(lambda picture: vectors([picture])[0], scenes))
    assert np.array_equal(together, np.stack(alone))
    assert EMBEDDER.embed_images([]).shape == (0, DIMENSIONS)


def test_the_vector_of_the_probe_is_known() -> None:
    """Vectors that are stored must be equal in later releases. If you change them, change the revision as
    well."""
    (vector,) = EMBEDDER.embed_images([draw_probe_image(EMBEDDER.rendering)])
    assert EMBEDDER.identity.revision == "1"
    assert EMBEDDER.identity.modality == "image"
    assert vector[[1, 27, 70, 100, 200]] == pytest.approx(
        [-0.02804, -0.02804, 0.1745, 0.1901, 0.00871], abs=1e-4
    )


def test_histogram_is_the_default_model() -> None:
    opened: ImageEmbedder = open_image_embedder(load_settings())
    assert opened.identity == EMBEDDER.identity
    assert open_image_embedder(load_settings(), ModelChoice("histogram", "colours-and-edges", 240))
    opened.close()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"do_pad": True}, "kg knows no do_pad"),
        ({"do_resize": False}, "do_resize"),
        ({"resample": 5}, "resample"),
        ({"size": {"longest_edge": 64}}, "size"),
        ({"size": {"shortest_edge": 24}, "do_center_crop": False}, "one size"),
        ({"size": {"height": 24}}, "size"),
        ({"size": 5000}, "size"),
        ({"crop_size": {"height": 30, "width": 24}}, "no larger than size"),
        ({"image_std": [0.5, 0.5, 0.0]}, "above 0"),
        ({"image_mean": None}, "image_mean"),
        ({"do_normalize": False}, "do_normalize"),
        ({"image_mean": [0.5]}, "image_mean"),
        ({"rescale_factor": 0}, "rescale_factor"),
    ],
)
def test_unsupported_preprocessing_is_rejected(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({**PREPROCESSOR, **change}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=told):
        read_preprocessing(path)


@pytest.mark.parametrize(
    ("change", "fit", "shape"),
    [
        ({"size": {"height": 24, "width": 32}, "do_center_crop": False}, "stretch", (1, 3, 24, 32)),  # SigLIP
        ({"size": {"height": 24, "width": 24}, "crop_size": None}, "stretch", (1, 3, 24, 24)),
        ({"size": 32, "crop_size": 24}, "cover", (1, 3, 24, 24)),  # older files
        ({"size": {"shortest_edge": 32}, "crop_size": {"height": 20, "width": 24}}, "cover", (1, 3, 20, 24)),
    ],
)
def test_preprocessing_files_of_every_kind_are_followed(
    tmp_path: Path, change: dict[str, Any], fit: str, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({**PREPROCESSOR, **change}), encoding="utf-8")
    found = read_preprocessing(path)
    assert found.rendering.fit == fit
    picture = np.full((found.rendering.height, found.rendering.width, 3), 51, np.uint8)
    picture[0] = 0  # of what is cut off, nothing is seen
    values = found.compute_input(picture)
    assert values.shape == shape
    assert values.dtype == np.float32
    assert values[0, 0, -1, -1] == pytest.approx((0.2 - 0.48) / 0.27, rel=1e-5)
