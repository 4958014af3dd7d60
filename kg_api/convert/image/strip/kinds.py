"""A picture as it is stored: what shows it rightly, and no more than that."""

from __future__ import annotations

from PIL import Image

from kg_api.convert.image.strip import bmp, gif, jpeg, png, tiff, webp

_KINDS = {
    "BMP": bmp.strip,
    "GIF": gif.strip,
    "JPEG": jpeg.strip,
    "MPO": jpeg.strip,
    "PNG": png.strip,
    "TIFF": tiff.strip,
    "WEBP": webp.strip,
}


def stripped(data: bytes, picture: Image.Image) -> bytes:
    """The file with pixels, colour profile, orientation, title, description, author, rights and dates alone.

    Pixels are copied as they are encoded.

    Args:
        data: the file.
        picture: it, opened.

    Raises:
        UnreadableDocument: it is a TIFF of a rare kind.
        struct.error: it is damaged.
    """
    return _KINDS[picture.format or ""](data, picture)
