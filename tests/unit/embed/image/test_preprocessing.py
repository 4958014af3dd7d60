"""From pixels to a model's numbers: what preprocessor_config.json files say, and what kg does not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers.local_images import read_preprocessing
from tests.support.image_models import PREPROCESSOR


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"do_pad": True}, "kg knows no do_pad"),
        ({"do_resize": False}, "kg resizes every picture"),
        ({"resample": 5}, "resample 0 to 3"),
        ({"size": {"longest_edge": 64}}, "longest_edge"),
        ({"size": {"shortest_edge": 24}, "do_center_crop": False}, "one size"),
        ({"size": {"height": 24}}, "one size"),
        ({"size": 5000}, "size"),
        ({"crop_size": {"height": 30, "width": 24}}, "no larger than size"),
        ({"image_std": [0.5, 0.5, 0.0]}, "above 0"),
        ({"image_mean": None}, "needs image_mean"),
        ({"image_mean": [0.5]}, "image_mean"),
        ({"rescale_factor": 0}, "rescale_factor"),
    ],
)
def test_preprocessing_that_kg_does_not_do_is_refused(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
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
        ({"do_normalize": False, "do_rescale": False}, "cover", (1, 3, 24, 24)),
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
    values = found.values(picture)
    assert values.shape == shape
    assert values.dtype == np.float32
    scaled = 51.0 if not change.get("do_normalize", True) else (0.2 - 0.48) / 0.27
    assert values[0, 0, -1, -1] == pytest.approx(scaled, rel=1e-5)
