"""Image files: metadata (title, description, author, date, place), decoding, thumbnails, and rendering."""

from __future__ import annotations

import io
import math
import re
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from PIL import Image, UnidentifiedImageError

from kg_api.convert.shared.containers import build_metadata, parse_date
from kg_api.convert.shared.markdown_text import join_lines
from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Rendering
from kg_api.schemas.images import ImageType, RenderedImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import EXPORT, detect_unsupported_image, find_binary_kind, is_image

_DESCRIPTION, _AUTHOR, _CHANGED, _XP_TITLE, _XP_COMMENT = 0x010E, 0x013B, 0x0132, 0x9C9B, 0x9C9C
_EXIF, _TAKEN = 0x8769, 0x9003
_MAX_LENGTH = 2000
_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d)(.*)", re.DOTALL)
_NO_WORDS = frozenset({"olympus digital camera", "digital camera", "dcim", "untitled", "screenshot"})
"""Default titles of cameras."""


@dataclass(frozen=True, slots=True)
class AboutImage:
    """Metadata of an image, for search and for its document."""

    title: str
    description: str
    dated: str  # text with the date of the photograph or of the file (empty: unknown)
    metadata: dict[str, MetadataValue]


def read_description(picture: Image.Image) -> AboutImage:
    """Read EXIF, and the text chunks of a PNG."""
    exif = cast("Any", picture.getexif())
    texts = {str(key).lower(): value for key, value in picture.info.items() if isinstance(value, str)}
    title = _decode_text(exif.get(_XP_TITLE)) or _decode_text(texts.get("title"))
    description = (
        _decode_text(exif.get(_DESCRIPTION))
        or _decode_text(exif.get(_XP_COMMENT))
        or _decode_text(texts.get("description"))
    )
    taken, made = (
        _parse_date(exif.get_ifd(_EXIF).get(_TAKEN)),
        _parse_date(exif.get(_CHANGED) or texts.get("creation time")),
    )
    values = build_metadata(
        author=_decode_text(exif.get(_AUTHOR)) or _decode_text(texts.get("author")), date=taken or made
    )
    dated = f"Taken {taken[:10]}" if taken else f"Dated {made[:10]}" if made else ""
    return AboutImage(title, description, dated, values)


def _decode_text(value: object) -> str:
    if isinstance(value, bytes):  # UTF-16 from Windows, any encoding from others
        value = value.decode("utf-16-le" if b"\0" in value else "utf-8", "replace")
    words = join_lines(str(value or "").replace("\0", " ")[:_MAX_LENGTH])
    return "" if words.lower() in _NO_WORDS else words


def _parse_date(value: object) -> str:
    """Return a date as ISO 8601. EXIF dates contain colons, and an unset camera clock yields 0000."""
    words = _decode_text(value)
    if found := _DATE.fullmatch(words):
        words = f"{found[1]}-{found[2]}-{found[3]}{found[4]}"
    return parse_date(words)


# Opening of untrusted images: format by content, and size check before decoding

TYPES: dict[str, ImageType] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # several images in one JPEG, from some cameras
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "BMP": "image/bmp",
}
MAX_FRAMES = 1000
_DAMAGE = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, OverflowError),
    *(struct.error, zlib.error, RuntimeError, AssertionError),
)
"""Errors of Pillow for damaged or malicious images."""


@contextmanager
def open_image(data: bytes, max_megapixels: float) -> Generator[Image.Image]:
    Image.MAX_IMAGE_PIXELS = None  # Pillow's own limit only warns
    try:
        with Image.open(io.BytesIO(data), formats=[*TYPES.keys() - {"MPO"}]) as picture:
            _check(picture, max_megapixels)
            yield picture
    except UnreadableDocument:
        raise
    except UnidentifiedImageError:
        raise UnreadableDocument(_describe_non_image(data)) from None
    except _DAMAGE as error:
        raise UnreadableDocument(
            f"the image is damaged ({error!s:.200}). Open the image in its original program and save it again"
        ) from error


def count_frames(picture: Image.Image) -> int:
    return int(cast("Any", picture).n_frames) if hasattr(picture, "n_frames") else 1


def _describe_non_image(data: bytes) -> str:
    """Return the actual kind of the file, and a remedy."""
    if not data:
        return "the file is not an image: it is empty (0 bytes). Copy the file again"
    if what := detect_unsupported_image(data):
        return f"the file is {what}, an unsupported format. {EXPORT}"
    instead = find_binary_kind(data)
    if not instead:
        with suppress(UnicodeDecodeError):
            instead = "text" if "\0" not in data.decode() else ""
    if instead and not is_image(data):
        return (
            f"the file is not an image but {instead}. Rename the file to match its content, or ingest "
            "the correct image"
        )
    return (
        "the file is not a supported image (PNG, JPEG, WebP, GIF, TIFF, BMP), or its beginning is "
        f"damaged. {EXPORT}"
    )


def _check(picture: Image.Image, max_megapixels: float) -> None:
    if picture.width * picture.height > max_megapixels * 1e6:
        raise UnreadableDocument(
            f"the image has {picture.width:,} x {picture.height:,} pixels, more than "
            f"{max_megapixels:g} million. Make the image smaller"
        )
    if (frames := count_frames(picture)) > MAX_FRAMES:
        raise UnreadableDocument(
            f"the image has {frames:,} frames, more than {MAX_FRAMES:,}. Split the image"
        )


# Small images for display, OCR, and models

THUMBNAIL = Rendering(256, 256, "within")
ORIENTATION = 0x0112  # EXIF tag
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
ON_THEIR_SIDE = frozenset(_TURNS[each] for each in range(5, 9))  # rotations that swap width and height
_QUALITY = 80
_WHITE = (255, 255, 255)
_SIXTEEN_TO_EIGHT = 257


def render_upright(picture: Image.Image, max_pixels: float) -> Image.Image:
    """Return the upright image in RGB with at most `max_pixels`."""
    scale = min(1.0, math.sqrt(max_pixels / (picture.width * picture.height)))
    width, height = (max(1, int(side * scale)) for side in picture.size)
    if get_upright_rotation(picture) in ON_THEIR_SIDE:
        width, height = height, width
    return render_opened(picture, Rendering(width, height, "stretch"))


def get_upright_rotation(picture: Image.Image) -> Image.Transpose | None:
    """Get the rotation that makes a photograph upright. Pillow rotates a TIFF while decoding."""
    if picture.format == "TIFF":
        return None
    return _TURNS.get(picture.getexif().get(ORIENTATION, 1))


def flatten(picture: Image.Image, factor: tuple[int, int]) -> Image.Image:
    """Return the image in RGB on a white background, reduced by averaging."""
    if picture.mode in {"P", "PA"}:  # palette indices cannot be averaged
        picture = picture.convert("RGBA")
    elif picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture) // _SIXTEEN_TO_EIGHT).astype(np.uint8))
    elif picture.mode == "1":
        picture = picture.convert("L")
    if max(factor) > 1:
        picture = picture.reduce(factor)
    if picture.mode.startswith(("I", "F")):
        # Scale 32-bit grays from the darkest to the brightest value
        values: Any = np.nan_to_num(np.asarray(picture, dtype=np.float32))
        darkest, brightest = float(values.min()), float(values.max())
        scaled = (values - darkest) * (255.0 / max(brightest - darkest, 1e-9))
        return Image.fromarray(scaled.astype(np.uint8)).convert("RGB")
    if picture.mode in {"RGBA", "LA", "La", "RGBa", "PA"} or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        ground = Image.new("RGB", seen.size, _WHITE)
        ground.paste(seen, mask=seen.getchannel("A"))
        return ground
    return picture.convert("RGB")


def make_thumbnail(picture: Image.Image) -> bytes:
    """Return an upright WebP of at most 256 x 256 pixels without metadata."""
    content = io.BytesIO()
    pixels = np.asarray(render_opened(picture, THUMBNAIL))
    Image.fromarray(pixels).save(content, "WEBP", quality=_QUALITY)
    return content.getvalue()


# Rendering: upright RGB at a given size

_SPARE = 3  # multiple of the target size to keep before the final resampling
_RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
Size = tuple[int, int]
Extent = tuple[float, float]


def render(data: bytes, rendering: Rendering, settings: ConversionSettings) -> RenderedImage:
    with open_image(data, settings.image_max_megapixels) as picture:
        made = render_opened(picture, rendering)
    return RenderedImage(made.width, made.height, made.tobytes())


def render_opened(picture: Image.Image, rendering: Rendering) -> Image.Image:
    """Render an open image, for display, OCR, or a model.

    JPEG decoding and averaging first reduce the image to at least three times the target size. Then one
    resampling step follows.
    """
    turn = get_upright_rotation(picture)
    wanted = (rendering.width, rendering.height)
    if turn in ON_THEIR_SIDE:
        wanted = (rendering.height, rendering.width)
    target, _ = _compute_sizes(picture.size, wanted, rendering)
    picture.draft("RGB", (_SPARE * target[0], _SPARE * target[1]))
    picture.load()
    # Resample the center of the image, of size `part`, to the target size.
    part = _compute_sizes(picture.size, wanted, rendering)[1]
    factor = (max(1, int(part[0] / target[0] / _SPARE)), max(1, int(part[1] / target[1] / _SPARE)))
    left, top = (picture.width - part[0]) / 2, (picture.height - part[1]) / 2
    small = flatten(picture, factor)
    right, bottom = (left + part[0]) / factor[0], (top + part[1]) / factor[1]
    box = (left / factor[0], top / factor[1], min(right, small.width), min(bottom, small.height))
    made = small.resize(target, _RESAMPLING[rendering.resample], box)
    return made.transpose(turn) if turn is not None else made


def _compute_sizes(size: Size, wanted: Size, rendering: Rendering) -> tuple[Size, Extent]:
    """Return the target size, and the size of the source area."""
    if rendering.fit == "stretch":
        return wanted, size
    scales = (wanted[0] / size[0], wanted[1] / size[1])
    if rendering.fit == "cover":
        return wanted, (wanted[0] / max(scales), wanted[1] / max(scales))
    scale = min(1.0, *scales)
    return (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))), size


# Removal of metadata

_SAVED_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_PNG_LEVEL, _STORED_QUALITY = 3, 95


def strip_metadata(data: bytes, picture: Image.Image) -> bytes:
    """Return an image with only pixels, resolution, color profile, and orientation.

    A JPEG keeps its quantization tables, so its pixels hardly change. TIFF and BMP become PNG.
    """
    content, exif = io.BytesIO(), Image.Exif()
    orientation = picture.getexif().get(ORIENTATION, 1)
    if orientation in range(2, 9) and picture.format != "TIFF":  # Pillow rotates a TIFF while decoding
        exif[ORIENTATION] = orientation
    kept: dict[str, Any] = {"exif": exif.tobytes() if len(exif) else b""}
    kept |= {key: picture.info.get(key) for key in ("icc_profile", "dpi") if key in picture.info}
    match picture.format:
        case "JPEG" | "MPO":
            kept["quality"] = "keep" if picture.format == "JPEG" else _STORED_QUALITY
            picture.save(content, "JPEG", progressive="progressive" in picture.info, comment=b"", **kept)
        case "WEBP":
            lossless = b"VP8L" in data[:4096]
            picture.save(
                content, "WEBP", save_all=True, lossless=lossless, quality=_STORED_QUALITY, exact=True, **kept
            )
        case "GIF":
            picture.save(content, "GIF", save_all=True, comment=b"")
        case _:
            several = picture.format == "PNG" and count_frames(picture) > 1
            picture.load()
            saved = picture if picture.mode in _SAVED_MODES else flatten(picture, (1, 1))
            saved.save(
                content, "PNG", save_all=several, compress_level=_PNG_LEVEL, **kept
            )  # the default level 6 takes four times as long
    return content.getvalue()
