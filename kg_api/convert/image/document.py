"""A picture as a document: the words that it says of itself, and how it looks."""

from __future__ import annotations

from PIL import Image

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.about import AboutImage, about, has_place
from kg_api.convert.image.opening import TYPES, frames_of, opened
from kg_api.convert.image.place import without_place
from kg_api.convert.image.preview import ORIENTATION, difference_hash, small, thumbnail
from kg_api.errors import UnreadableDocument
from kg_api.models.images import FoundImage, ReadImage
from kg_api.models.library.conversion import Converted

_ON_THEIR_SIDE = range(5, 9)
"""Orientations in EXIF by which width and height change places."""


def convert(data: bytes, settings: ConversionSettings) -> Converted:
    """Read a picture; its text is what it says of itself, which may be nothing.

    Raises:
        UnreadableDocument: it is none, it is too large, or it is damaged.
    """
    image, said, frames = _read(data, settings)
    text = "\n".join(filter(None, (said.title, said.description, said.dated)))
    notes = (f"it has {frames:,} frames or pages, and the first one is looked at",) if frames > 1 else ()
    title = said.title or said.description
    return Converted(text, title, said.metadata, notes=notes, images=(FoundImage(0, len(text), image),))


def read_image(data: bytes, settings: ConversionSettings) -> ReadImage:
    """Read a picture that is part of a document.

    Raises:
        UnreadableDocument: as `convert` does.
    """
    return _read(data, settings)[0]


def _read(data: bytes, settings: ConversionSettings) -> tuple[ReadImage, AboutImage, int]:
    content = data if settings.image_keep_place else _without_place(data, settings)
    with opened(content, settings.image_max_megapixels) as picture:
        kind, frames = TYPES[picture.format or ""], frames_of(picture)
        width, height = _shown_size(picture)
        said = about(picture, keep_place=settings.image_keep_place)
        preview = small(picture)
    image = ReadImage(kind, width, height, difference_hash(preview), thumbnail(preview), content)
    return image, said, frames


def _without_place(data: bytes, settings: ConversionSettings) -> bytes:
    with opened(data, settings.image_max_megapixels) as picture:
        place = has_place(picture)
    content = without_place(data)
    if place:
        with opened(content, settings.image_max_megapixels) as picture:
            if has_place(picture):
                raise UnreadableDocument(
                    "it says where it was taken in a way that kg cannot remove: remove it yourself, or "
                    "keep it (KG_CONVERSION__IMAGE_KEEP_PLACE)"
                )
    return content


def _shown_size(picture: Image.Image) -> tuple[int, int]:
    width, height = picture.size
    return (height, width) if picture.getexif().get(ORIENTATION, 1) in _ON_THEIR_SIDE else (width, height)
