"""From pixels to numbers, as a model's own preprocessor_config.json says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kg_api.embed.image.pixels import CHANNELS
from kg_api.embed.image.port import Pixels, Rendering, Resample
from kg_api.errors import ConfigurationError

_RESAMPLING: dict[int, Resample] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""By their numbers in Pillow, which such files have."""
_STEPS = {"do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"}
Side = Annotated[int, Field(ge=1, le=1536)]
Channels = Annotated[list[float], Field(min_length=CHANNELS, max_length=CHANNELS)]


class PictureSize(BaseModel):
    """A size, in either of two ways."""

    model_config = ConfigDict(extra="forbid")

    height: Side | None = None
    width: Side | None = None
    shortest_edge: Side | None = None

    @property
    def sides(self) -> tuple[int, int] | None:
        """Height and width, where both are told."""
        return (self.height, self.width) if self.height and self.width else None


class PreprocessorFile(BaseModel):
    """The part of such a file that is used; a step that is not known is refused."""

    model_config = ConfigDict(extra="allow")

    size: PictureSize | Side
    crop_size: PictureSize | Side | None = None
    do_resize: bool = True
    do_center_crop: bool | None = None
    do_rescale: bool = True
    do_normalize: bool = True
    resample: int = 3
    rescale_factor: float = Field(default=1 / 255, gt=0, allow_inf_nan=False)
    image_mean: Channels | None = None
    image_std: Channels | None = None


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How pictures become numbers."""

    rendering: Rendering
    height: int
    width: int
    factor: float
    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    def values(self, pixels: Pixels) -> NDArray[np.float32]:
        """One picture as a model takes it: float32, shape (1, 3, height, width)."""
        top, left = (pixels.shape[0] - self.height) // 2, (pixels.shape[1] - self.width) // 2
        middle = pixels[top : top + self.height, left : left + self.width]
        scaled = (middle.astype(np.float32) * np.float32(self.factor) - self.mean) / self.std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis])


def read_preprocessing(path: Path) -> Preprocessing:
    """Read a preprocessor_config.json.

    Raises:
        ConfigurationError: it is none, or asks for what kg does not do.
    """
    try:
        return _preprocessing(PreprocessorFile.model_validate_json(path.read_bytes()))
    except (OSError, ValidationError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be followed: {error}") from error


def _preprocessing(file: PreprocessorFile) -> Preprocessing:
    extra: dict[str, Any] = file.model_extra or {}
    if unknown := [
        name for name, on in extra.items() if name.startswith("do_") and on and name not in _STEPS
    ]:
        raise ValueError(f"kg knows no {', '.join(unknown)}")
    if file.resample not in _RESAMPLING or not file.do_resize:
        raise ValueError(
            "kg resizes every picture, by nearest, lanczos, bilinear or bicubic (resample 0 to 3)"
        )
    rendering = _rendering(file)
    height, width = _crop(file, rendering)
    mean, std = _normal(file)
    return Preprocessing(rendering, height, width, file.rescale_factor if file.do_rescale else 1.0, mean, std)


def _rendering(file: PreprocessorFile) -> Rendering:
    size = PictureSize(shortest_edge=file.size) if isinstance(file.size, int) else file.size
    if size.sides:
        return Rendering(size.sides[1], size.sides[0], "stretch", _RESAMPLING[file.resample])
    if size.shortest_edge and file.do_center_crop is not False and file.crop_size:
        return Rendering(size.shortest_edge, size.shortest_edge, "cover", _RESAMPLING[file.resample])
    raise ValueError(
        "size must be height and width, or shortest_edge with a crop: pictures have one size then"
    )


def _crop(file: PreprocessorFile, rendering: Rendering) -> tuple[int, int]:
    """Height and width of the middle that is cut out."""
    if file.crop_size is None or file.do_center_crop is False:
        return rendering.height, rendering.width
    crop = file.crop_size
    sides = (crop, crop) if isinstance(crop, int) else crop.sides
    if sides is None or sides[0] > rendering.height or sides[1] > rendering.width:
        raise ValueError("crop_size must be height and width, no larger than size")
    return sides


def _normal(file: PreprocessorFile) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not file.do_normalize:
        return _row([0.0] * CHANNELS), _row([1.0] * CHANNELS)
    if file.image_mean is None or file.image_std is None or min(file.image_std) <= 0:
        raise ValueError("do_normalize needs image_mean and image_std, and the latter above 0")
    return _row(file.image_mean), _row(file.image_std)


def _row(values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)
