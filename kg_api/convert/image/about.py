"""What a picture says of itself: title, description, author, when and where it was taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from PIL import Image

from kg_api.convert.files.about import iso_date, metadata
from kg_api.convert.markdown_text import one_line
from kg_api.models.library.metadata import MetadataValue

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
    dated: str
    """When it was taken, or else when its file was made, in words; it may not say."""
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
    place = _place(said.get_ifd(_GPS)) if keep_place else {}
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


def _place(said: Mapping[int, Any]) -> dict[str, MetadataValue]:
    try:
        latitude, longitude = (_degrees(said, *side) for side in _SIDES)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return {}
    return {"latitude": latitude, "longitude": longitude}


def _degrees(said: Mapping[int, Any], side: int, number: int, negative: str) -> float:
    degrees, minutes, seconds = (float(each) for each in said[number])
    value = round(degrees + minutes / 60 + seconds / 3600, 6)
    return -value if str(said[side]).strip("\0 ").upper() == negative else value
