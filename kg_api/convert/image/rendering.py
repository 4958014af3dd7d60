"""A picture unpacked for a model that sees: upright, in RGB, of the size that it takes."""

from __future__ import annotations

from PIL import Image

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.opening import opened
from kg_api.convert.image.preview import ON_THEIR_SIDE, flat, turn_of
from kg_api.embed.image.port import Rendering
from kg_api.models.images import RenderedImage

_SPARE = 3
"""So many times the target's size is kept, where there is so much, for the one resampling."""
_RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
Size = tuple[int, int]
Extent = tuple[float, float]


def render(data: bytes, rendering: Rendering, settings: ConversionSettings) -> RenderedImage:
    """Unpack a picture.

    Raises:
        UnreadableDocument: it is none, it is too large, or it is damaged.
    """
    with opened(data, settings.image_max_megapixels) as picture:
        made = render_opened(picture, rendering)
    return RenderedImage(made.width, made.height, made.tobytes())


def render_opened(picture: Image.Image, rendering: Rendering) -> Image.Image:
    """Unpack a picture that is open.

    A JPEG is decoded at a fraction of its size, or means of whole pixels are taken, down to no less than
    three times the target; then it is resampled once.
    """
    turn = turn_of(picture)
    wanted = (rendering.width, rendering.height)
    if turn in ON_THEIR_SIDE:
        wanted = (rendering.height, rendering.width)
    target, _ = _fitted(picture.size, wanted, rendering)
    picture.draft("RGB", (_SPARE * target[0], _SPARE * target[1]))
    picture.load()
    made = _resampled(picture, target, _fitted(picture.size, wanted, rendering)[1], rendering)
    return made.transpose(turn) if turn is not None else made


def _resampled(picture: Image.Image, target: Size, part: Extent, rendering: Rendering) -> Image.Image:
    """The middle of a picture, of the extent of `part`, in the target's size."""
    factor = (_factor(part[0], target[0]), _factor(part[1], target[1]))
    left, top = (picture.width - part[0]) / 2, (picture.height - part[1]) / 2
    small = flat(picture, factor)
    right, bottom = (left + part[0]) / factor[0], (top + part[1]) / factor[1]
    box = (left / factor[0], top / factor[1], min(right, small.width), min(bottom, small.height))
    return small.resize(target, _RESAMPLING[rendering.resample], box)


def _fitted(size: Size, wanted: Size, rendering: Rendering) -> tuple[Size, Extent]:
    """The size to be made, and the extent of the part that it is made of."""
    if rendering.fit == "stretch":
        return wanted, size
    scales = (wanted[0] / size[0], wanted[1] / size[1])
    if rendering.fit == "cover":
        return wanted, (wanted[0] / max(scales), wanted[1] / max(scales))
    scale = min(1.0, *scales)
    return (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))), size


def _factor(extent: float, target: int) -> int:
    return max(1, int(extent / target / _SPARE))
