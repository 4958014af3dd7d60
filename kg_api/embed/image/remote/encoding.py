"""Pictures as they leave this machine: made anew from pixels, so that nothing of the stored file goes out.

What a camera or a program wrote beside the pixels (place, time, name, thumbnail) is not in pixels.
"""

from __future__ import annotations

import base64
import io

from PIL import Image

from kg_api.embed.image.port import Pixels

_QUALITY = 95
_FULL_COLOUR = 0
"""No pixel shares its colour with another."""


def as_jpeg(pixels: Pixels) -> bytes:
    """As a JPEG file without metadata."""
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG", quality=_QUALITY, subsampling=_FULL_COLOUR)
    return content.getvalue()


def data_url(jpeg: bytes) -> str:
    """As an address that holds the file itself."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
