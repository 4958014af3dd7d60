"""What a picture says of itself: title, description, author, when and where it was taken."""

from __future__ import annotations

import io
import math
import re
import struct
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from PIL import Image, UnidentifiedImageError

from kg_api.convert.shared.containers import iso_date, metadata
from kg_api.convert.shared.markdown_text import one_line
from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Rendering
from kg_api.schemas.images import ImageType, RenderedImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import EXPORT, binary_kind, is_image, unread_picture

_DESCRIPTION, _AUTHOR, _CHANGED, _XP_TITLE, _XP_COMMENT = 0x010E, 0x013B, 0x0132, 0x9C9B, 0x9C9C
_EXIF, _TAKEN, _GPS = 0x8769, 0x9003, 0x8825
_SIDES = ((1, 2, "S"), (3, 4, "W"))
"""Of latitude and longitude: which side, the number, and the side that is negative."""
_MAX_LENGTH = 2000
_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d)(.*)", re.DOTALL)
_NO_WORDS = frozenset({"olympus digital camera", "digital camera", "dcim", "untitled", "screenshot"})
"""What cameras write where a title should stand."""


@dataclass(frozen=True, slots=True)
class AboutImage:
    """What it says, as it is searched and as it is stored of its document."""

    title: str
    description: str
    dated: str  # when it was taken, or else when its file was made, in words; it may not say
    metadata: dict[str, MetadataValue]


def about(picture: Image.Image, *, keep_place: bool) -> AboutImage:
    """Read EXIF, and what a PNG says in its text chunks."""
    said = cast("Any", picture.getexif())
    texts = {str(key).lower(): value for key, value in picture.info.items() if isinstance(value, str)}
    title = _words(said.get(_XP_TITLE)) or _words(texts.get("title"))
    description = (
        _words(said.get(_DESCRIPTION)) or _words(said.get(_XP_COMMENT)) or _words(texts.get("description"))
    )
    taken, made = (
        _date(said.get_ifd(_EXIF).get(_TAKEN)),
        _date(said.get(_CHANGED) or texts.get("creation time")),
    )
    place: dict[str, MetadataValue] = {}
    if keep_place:
        with suppress(KeyError, TypeError, ValueError, ZeroDivisionError):
            latitude, longitude = (_degrees(said.get_ifd(_GPS), *side) for side in _SIDES)
            place = {"latitude": latitude, "longitude": longitude}
    told = metadata(author=_words(said.get(_AUTHOR)) or _words(texts.get("author")), date=taken or made)
    dated = f"Taken {taken[:10]}" if taken else f"Dated {made[:10]}" if made else ""
    return AboutImage(title, description, dated, {**told, **place})


def _words(said: object) -> str:
    if isinstance(said, bytes):  # of Windows: UTF-16; of others: anything
        said = said.decode("utf-16-le" if b"\0" in said else "utf-8", "replace")
    words = one_line(str(said or "").replace("\0", " ")[:_MAX_LENGTH])
    return "" if words.lower() in _NO_WORDS else words


def _date(said: object) -> str:
    """EXIF has colons within a date; a camera whose clock was never set says 0000."""
    words = _words(said)
    if found := _DATE.fullmatch(words):
        words = f"{found[1]}-{found[2]}-{found[3]}{found[4]}"
    return iso_date(words)


def _degrees(said: Mapping[int, Any], side: int, number: int, negative: str) -> float:
    degrees, minutes, seconds = (float(each) for each in said[number])
    value = round(degrees + minutes / 60 + seconds / 3600, 6)
    return -value if str(said[side]).strip("\0 ").upper() == negative else value


# Opening a picture that nobody vouches for: its kind by its content, its size before it is unpacked.

TYPES: dict[str, ImageType] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # several in one JPEG, as some cameras write them
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
"""What Pillow raises for pictures that are damaged or meant to harm."""


@contextmanager
def opened(data: bytes, max_megapixels: float) -> Generator[Image.Image]:
    """Open a picture; of several frames the first one is shown."""
    Image.MAX_IMAGE_PIXELS = None  # its own bound only warns
    try:
        with Image.open(io.BytesIO(data), formats=[*TYPES.keys() - {"MPO"}]) as picture:
            _check(picture, max_megapixels)
            yield picture
    except UnreadableDocument:
        raise
    except UnidentifiedImageError:
        raise UnreadableDocument(_no_picture(data)) from None
    except _DAMAGE as error:
        raise UnreadableDocument(
            f"it is a damaged picture ({error!s:.200}); open it in the program that made it and save it again"
        ) from error


def frames_of(picture: Image.Image) -> int:
    """How many frames or pages it has."""
    return int(cast("Any", picture).n_frames) if hasattr(picture, "n_frames") else 1


def _no_picture(data: bytes) -> str:
    """What it is instead, and what to do."""
    if not data:
        return "it is not a picture: it is empty (0 bytes), as a copy that broke off leaves it: copy it again"
    if what := unread_picture(data):
        return f"it is {what}, a kind that is not read, whatever its name says: {EXPORT}"
    instead = binary_kind(data)
    if not instead:
        with suppress(UnicodeDecodeError):
            instead = "text" if "\0" not in data.decode() else ""
    if instead and not is_image(data):
        return (
            f"it is not a picture but {instead}, whatever its name says: give it the ending that belongs to "
            "it, or take the picture that was meant"
        )
    return (
        "it is not a picture of a kind that is read (PNG, JPEG, WebP, GIF, TIFF, BMP), whatever its name "
        f"says, or it is damaged from the beginning; {EXPORT}"
    )


def _check(picture: Image.Image, max_megapixels: float) -> None:
    if picture.width * picture.height > max_megapixels * 1e6:
        raise UnreadableDocument(
            f"it is a picture of {picture.width:,} x {picture.height:,} pixels, and "
            f"{max_megapixels:g} million are read at most (KG_CONVERSION__IMAGE_MAX_MEGAPIXELS); "
            "make it smaller"
        )
    if (frames := frames_of(picture)) > MAX_FRAMES:
        raise UnreadableDocument(
            f"it is a picture of {frames:,} frames, and {MAX_FRAMES:,} are read at most; divide it"
        )


# A picture made small: to be shown, and to be compared.

THUMBNAIL_PIXELS = 256
_ENOUGH = 4 * THUMBNAIL_PIXELS
ORIENTATION = 0x0112  # in EXIF: how a photograph is to be turned
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
ON_THEIR_SIDE = frozenset(_TURNS[each] for each in range(5, 9))
"""Turns by which width and height change places."""
_QUALITY = 80
_WHITE = (255, 255, 255)
_SIXTEEN_TO_EIGHT = 257
_BITS = (9, 8)  # pixels that the 64 bits of a difference hash are made of


def small(picture: Image.Image) -> Image.Image:
    """A picture as it is shown, not much larger than a thumbnail."""
    return shown(picture, _ENOUGH**2)


def shown(picture: Image.Image, max_pixels: float) -> Image.Image:
    """A picture as it is shown: upright, in RGB, with no more pixels than that; the whole is not kept."""
    turn = turn_of(picture)
    factor = max(1, int(math.sqrt(picture.width * picture.height / max_pixels)))
    if factor > 1:
        picture.draft("RGB", (picture.width // factor, picture.height // factor))  # JPEG is unpacked smaller
    picture.load()
    factor = max(1, int(math.sqrt(picture.width * picture.height / max_pixels)))
    made = flat(picture, (factor, factor))
    if (shrink := math.sqrt(max_pixels / (made.width * made.height))) < 1:
        made.thumbnail((max(1, int(made.width * shrink)), max(1, int(made.height * shrink))))
    return made.transpose(turn) if turn is not None else made


def turn_of(picture: Image.Image) -> Image.Transpose | None:
    """How a photograph is to be turned to stand upright; a TIFF is turned by Pillow when it is unpacked."""
    if picture.format == "TIFF":
        return None
    return _TURNS.get(picture.getexif().get(ORIENTATION, 1))


def flat(picture: Image.Image, factor: tuple[int, int]) -> Image.Image:
    """In RGB, so many times smaller by means of whole pixels; what can be seen through lies on white."""
    if picture.mode in {"P", "PA"}:  # no mean can be taken of these pixels
        picture = picture.convert("RGBA")
    elif picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture) // _SIXTEEN_TO_EIGHT).astype(np.uint8))
    elif picture.mode == "1":
        picture = picture.convert("L")
    if max(factor) > 1:
        picture = picture.reduce(factor)
    if picture.mode.startswith(("I", "F")):
        # Greys of 32 bits, from the darkest to the brightest
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


def thumbnail(picture: Image.Image) -> bytes:
    """As WebP, of at most 256 pixels a side, and with nothing else in it."""
    made = picture.copy()
    made.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    content = io.BytesIO()
    Image.fromarray(np.asarray(made)).save(content, "WEBP", quality=_QUALITY)
    return content.getvalue()


def difference_hash(picture: Image.Image) -> str:
    """Which of neighbouring pixels is brighter, in 9 x 8 of them: a crop or another size changes few bits.

    dHash by Neal Krawetz, "Kind of Like That" (The Hacker Factor Blog, 2013).
    """
    grey = np.asarray(picture.convert("L").resize(_BITS, Image.Resampling.LANCZOS), dtype=np.int16)
    return np.packbits(grey[:, 1:] > grey[:, :-1]).tobytes().hex()


# A picture unpacked for a model that sees: upright, in RGB, of the size that it takes.

_SPARE = 3  # so many times the target's size is kept, where there is so much, for the one resampling
_RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
Size = tuple[int, int]
Extent = tuple[float, float]


def render(data: bytes, rendering: Rendering, settings: ConversionSettings) -> RenderedImage:
    """Unpack a picture."""
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
    # The middle of a picture, of the extent of `part`, in the target's size
    part = _fitted(picture.size, wanted, rendering)[1]
    factor = (max(1, int(part[0] / target[0] / _SPARE)), max(1, int(part[1] / target[1] / _SPARE)))
    left, top = (picture.width - part[0]) / 2, (picture.height - part[1]) / 2
    small = flat(picture, factor)
    right, bottom = (left + part[0]) / factor[0], (top + part[1]) / factor[1]
    box = (left / factor[0], top / factor[1], min(right, small.width), min(bottom, small.height))
    made = small.resize(target, _RESAMPLING[rendering.resample], box)
    return made.transpose(turn) if turn is not None else made


def _fitted(size: Size, wanted: Size, rendering: Rendering) -> tuple[Size, Extent]:
    """The size to be made, and the extent of the part that it is made of."""
    if rendering.fit == "stretch":
        return wanted, size
    scales = (wanted[0] / size[0], wanted[1] / size[1])
    if rendering.fit == "cover":
        return wanted, (wanted[0] / max(scales), wanted[1] / max(scales))
    scale = min(1.0, *scales)
    return (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))), size
