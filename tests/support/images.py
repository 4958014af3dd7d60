import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from PIL import Image, ImageDraw
from PIL.TiffImagePlugin import IFDRational

GPS = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 36.0)}


def drawn(width: int = 64, height: int = 48, mode: str = "RGB") -> Image.Image:
    """Draw an image that is light at the top and dark at the bottom, with a red rectangle on the left."""
    picture = Image.linear_gradient("L").resize((width, height)).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    picture = picture.convert("RGB")
    ImageDraw.Draw(picture).rectangle((0, 0, width // 4, height // 2), fill=(200, 20, 20))
    return picture if mode == "RGB" else picture.convert(mode)


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def exif(tags: Mapping[int, Any], *, gps: bool = False, taken: str = "") -> bytes:
    said = Image.Exif()
    said.update(tags)
    if taken:
        said.get_ifd(0x8769)[0x9003] = taken
    if gps:
        said.get_ifd(0x8825).update(
            {
                key: tuple(IFDRational(each) for each in value) if isinstance(value, tuple) else value
                for key, value in GPS.items()
            }
        )
    return said.tobytes()


def png_of(width: int, height: int) -> bytes:
    """Return a small PNG file that claims to be large."""
    row = zlib.compress(bytes(1000), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", row) + _chunk(b"IEND", b"")


def gif_of(frames: int) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = (
        b"\x21\xf9\x04\x00\x00\x00\x00\x00"
        b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    )
    return head + frame * frames + b"\x3b"


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
