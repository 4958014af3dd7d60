"""BMP files up to the end of their pixels: their heads have no words."""

from __future__ import annotations

from PIL import Image, ImageFile

_RAW = "raw"


def strip(data: bytes, picture: Image.Image) -> bytes:
    """The file without what is behind its pixels; of one that is compressed the end of these is not told."""
    if not isinstance(picture, ImageFile.ImageFile) or not picture.tile:
        return data
    codec, _, offset, arguments = picture.tile[0]
    if codec != _RAW or not isinstance(arguments, tuple):
        return data
    _, stride, _ = arguments
    return data[: offset + stride * picture.height]
