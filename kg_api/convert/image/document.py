"""A picture as a document: the words that it says of itself, and how it looks."""

from __future__ import annotations

from PIL import Image

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.about import AboutImage, about
from kg_api.convert.image.opening import TYPES, frames_of, opened
from kg_api.convert.image.preview import ON_THEIR_SIDE, difference_hash, small, thumbnail, turn_of
from kg_api.convert.image.strip.kinds import stripped
from kg_api.models.images import FoundImage, ReadImage
from kg_api.models.library.conversion import Converted


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
    """What it says is read of the file that came; how it looks, of the one that is stored."""
    with opened(data, settings.image_max_megapixels) as picture:
        frames = frames_of(picture)
        said = about(picture, keep_place=settings.image_keep_place)
        content = data if settings.image_keep_place else stripped(data, picture)
    with opened(content, settings.image_max_megapixels) as picture:
        kind = TYPES[picture.format or ""]
        width, height = _shown_size(picture)
        preview = small(picture)
    image = ReadImage(kind, width, height, difference_hash(preview), thumbnail(preview), content)
    return image, said, frames


def _shown_size(picture: Image.Image) -> tuple[int, int]:
    width, height = picture.size
    return (height, width) if turn_of(picture) in ON_THEIR_SIDE else (width, height)
