"""Images during conversion, storage, and rendering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Base64Bytes, Field

ImageType = Literal["image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/bmp"]
Pixels = Annotated[int, Field(ge=1, le=2**31)]


@dataclass(frozen=True, slots=True)
class ReadImage:
    """Image from a converter process."""

    content_type: ImageType
    width: Pixels  # width after rotation
    height: Pixels
    thumbnail: Base64Bytes
    content: Base64Bytes  # content to store, without metadata such as a location
    original_hash: str
    """Hash of the original file and the removal of metadata. An update of Pillow does not change it."""


@dataclass(frozen=True, slots=True)
class RenderedImage:
    width: Pixels
    height: Pixels
    pixels: Base64Bytes  # RGB, three bytes per pixel, row by row


@dataclass(frozen=True, slots=True)
class FoundImage:
    """Image and its text in a document: `text[start:end]`."""

    start: int
    end: int
    image: ReadImage


@dataclass(frozen=True, slots=True)
class StoredImage:
    storage_key: str  # SHA-256 of the file
    thumbnail_key: str
    content_type: ImageType
    width: int
    height: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PlacedImage:
    start: int
    end: int
    image: StoredImage
    original_hash: str = ""
    """Hash as in `ReadImage`. Empty in pending documents from before kg stored the hash."""


@dataclass(frozen=True, slots=True)
class PageBox:
    """Part of a page. Its sides are in ten thousandths of the page, from the upper left corner."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class PageToDraw:
    page: int
    width: int  # Width in pixels. The image is narrower if the page would exceed the pixel limit.
    passage: str = ""  # text to highlight as a block, if at least a part of it is on the page
    words: tuple[str, ...] = ()  # words to highlight wherever they occur
    passage_boxes: tuple[PageBox, ...] = ()
    word_boxes: tuple[PageBox, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """PDF page that a converter process has rendered."""

    pages: int
    content: Base64Bytes  # PNG. Empty if the document has no such page.
    boxed: int


@dataclass(frozen=True, slots=True)
class PageImage:
    content: bytes
    page: int
    pages: int
    boxed: int
