import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from kg_api.convert.image.file import flatten, render_opened
from kg_api.providers.embedding_port import Pixels, Rendering

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "sample_photos" / "images"
Change = Callable[[Image.Image], list[Image.Image]]


def crops(picture: Image.Image, share: float) -> list[Image.Image]:
    width, height = round(picture.width * share), round(picture.height * share)
    right, below = picture.width - width, picture.height - height
    places = [(0, 0), (right, 0), (0, below), (right, below), (right // 2, below // 2)]
    return [picture.crop((x, y, x + width, y + height)) for x, y in places]


def scaled(picture: Image.Image, factor: float) -> list[Image.Image]:
    size = (max(1, round(picture.width * factor)), max(1, round(picture.height * factor)))
    return [picture.resize(size, Image.Resampling.BICUBIC)]


def encoded_again(picture: Image.Image, quality: int) -> list[Image.Image]:
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=quality)
    return [Image.open(content).convert("RGB")]


def all_at_once(picture: Image.Image) -> list[Image.Image]:
    return [
        again
        for part in crops(picture, 0.8)
        for half in scaled(part, 0.5)
        for again in encoded_again(half, 50)
    ]


CHANGES: dict[str, Change] = {
    "cropped to 90 %": partial(crops, share=0.9),
    "cropped to 80 %": partial(crops, share=0.8),
    "cropped to 70 %": partial(crops, share=0.7),
    "scaled to 25 %": partial(scaled, factor=0.25),
    "scaled to 50 %": partial(scaled, factor=0.5),
    "scaled to 200 %": partial(scaled, factor=2.0),
    "JPEG of quality 30": partial(encoded_again, quality=30),
    "grey": lambda picture: [picture.convert("L").convert("RGB")],
    "darker by 40 %": lambda picture: [ImageEnhance.Brightness(picture).enhance(0.6)],
    "brighter by 40 %": lambda picture: [ImageEnhance.Brightness(picture).enhance(1.4)],
    "less contrast, by 40 %": lambda picture: [ImageEnhance.Contrast(picture).enhance(0.6)],
    "more contrast, by 40 %": lambda picture: [ImageEnhance.Contrast(picture).enhance(1.4)],
    "cropped to 80 %, half the size, JPEG of quality 50": all_at_once,
}
"""Return five crops: one for each corner and one for the middle."""
LIMITS: dict[str, Change] = {
    "cropped to 50 %": partial(crops, share=0.5),
    "turned by 5 degrees": lambda picture: [picture.rotate(5, fillcolor="white")],
    "mirrored": lambda picture: [picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)],
    "upside down": lambda picture: [picture.transpose(Image.Transpose.ROTATE_180)],
    "on its side": lambda picture: [picture.transpose(Image.Transpose.ROTATE_90)],
}
"""Changes that are measured in the tests, but not guaranteed."""


def photographs() -> dict[str, Image.Image]:
    """Return the sample photos by name. If you do not have the data set, this is empty."""
    files = sorted(FOLDER.glob("*")) if FOLDER.is_dir() else []
    return {file.stem: flatten(Image.open(file), (1, 1)) for file in files}


def as_rendered(picture: Image.Image, rendering: Rendering) -> Pixels:
    return np.asarray(render_opened(picture, rendering))
