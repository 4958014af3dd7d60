from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from kg_api.convert.image.file import render
from kg_api.providers.embedding_port import Fit, Pixels, Rendering
from kg_api.settings import ConversionSettings
from tests.support.images import drawn, encoded, exif

SETTINGS = ConversionSettings()


def rendered(content: bytes, width: int, height: int, fit: Fit, **options: Any) -> Pixels:
    made = render(content, Rendering(width, height, fit, **options), SETTINGS)
    return np.frombuffer(made.pixels, np.uint8).reshape(made.height, made.width, 3)


def near(one: Pixels, other: Pixels) -> float:
    return float(np.abs(one.astype(float) - other).mean())


@pytest.mark.parametrize(
    ("size", "fit", "shape"),
    [
        ((640, 480), "within", (48, 64)),
        ((480, 640), "within", (64, 48)),
        ((30, 20), "within", (20, 30)),
        ((1000, 1), "within", (1, 64)),
        ((640, 480), "cover", (64, 64)),
        ((5, 4), "cover", (64, 64)),
        ((6000, 2), "cover", (64, 64)),
        ((640, 480), "stretch", (64, 64)),
        ((1, 1), "stretch", (64, 64)),
    ],
)
def test_image_is_rendered_at_requested_size(size: tuple[int, int], fit: Fit, shape: tuple[int, int]) -> None:
    for kind in ("PNG", "JPEG"):
        assert rendered(encoded(drawn(*size), kind), 64, 64, fit).shape == (*shape, 3)


def test_fitting_image_is_unchanged() -> None:
    picture = drawn(40, 30)
    for fit in ("within", "cover", "stretch"):
        assert np.array_equal(rendered(encoded(picture), 40, 30, fit), np.asarray(picture))


def test_cover_mode_crops_to_the_centre() -> None:
    picture = Image.new("RGB", (300, 100), "red")
    ImageDraw.Draw(picture).rectangle((100, 0, 199, 99), fill="blue")
    assert np.array_equal(
        rendered(encoded(picture), 100, 100, "cover")[:, 2:-2], _plain((0, 0, 255), 100, 96)
    )


def _plain(colour: tuple[int, int, int], height: int, width: int) -> Pixels:
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize("resample", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_large_image_is_resampled_once(kind: str, resample: Any) -> None:
    """The steps between these sizes are at three times the size or more, and change almost nothing."""
    rng = np.random.default_rng(3)
    noise = Image.fromarray(rng.integers(80, 176, (24, 32, 3), np.uint8)).resize((2000, 1500))
    content = encoded(noise, kind, **({"quality": 95} if kind == "JPEG" else {}))
    exact = Image.open(io.BytesIO(content)).resize((64, 48), getattr(Image.Resampling, resample.upper()))
    assert near(rendered(content, 64, 64, "within", resample=resample), np.asarray(exact)) < 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("fit", ["within", "cover", "stretch"])
def test_exif_orientation_is_applied(orientation: int, fit: Fit) -> None:
    upright = drawn(400, 300)
    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    lying = upright.transpose(turns[orientation]) if orientation in turns else upright
    found = rendered(encoded(lying, "PNG", exif=exif({0x0112: orientation})), 64, 40, fit)
    assert near(found, rendered(encoded(upright), 64, 40, fit)) < 1
