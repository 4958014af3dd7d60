"""Pictures: what is read of one, and what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Base64Bytes, Field

ImageType = Literal["image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/bmp"]
PerceptualHash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
"""Of what a picture looks like: near-duplicates differ in few of its 64 bits."""
Pixels = Annotated[int, Field(ge=1, le=2**31)]


@dataclass(frozen=True, slots=True)
class ReadImage:
    """A picture as a converting process has read it."""

    content_type: ImageType
    width: Pixels
    """As it is shown: a photograph that lies on its side has been turned."""
    height: Pixels
    perceptual_hash: PerceptualHash
    thumbnail: Base64Bytes
    content: Base64Bytes
    """What is to be kept: without the place where it was taken, unless that is wanted."""
    original_hash: str
    """Of the file that came, and whether its metadata was removed. An update of Pillow does not change it."""


@dataclass(frozen=True, slots=True)
class RenderedImage:
    """A picture as a converting process has unpacked it for a model."""

    width: Pixels
    height: Pixels
    pixels: Base64Bytes
    """Row by row, three bytes each: RGB."""


@dataclass(frozen=True, slots=True)
class FoundImage:
    """A picture and the words of a document that stand for it: `text[start:end]`."""

    start: int
    end: int
    image: ReadImage


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A picture that is in the store, as its source has it."""

    storage_key: str
    """The SHA-256 of its file."""
    thumbnail_key: str
    content_type: ImageType
    width: int
    height: int
    bytes: int
    perceptual_hash: str


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """A stored picture and the words of its document that stand for it."""

    start: int
    end: int
    image: StoredImage
    original_hash: str = ""
    """See `ReadImage`; empty in documents that await approval since before kg stored it."""


@dataclass(frozen=True, slots=True)
class PageBox:
    """A part of a page; its sides are in ten thousandths of it, from its upper left corner."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class PageToDraw:
    """What a page of a PDF is to be drawn with."""

    page: int
    width: int
    """In pixels; less, where the page would have too many."""
    passage: str = ""
    """Text that stands on it, or a part of it does: marked as one."""
    words: tuple[str, ...] = ()
    """Marked one by one, wherever they stand."""
    passage_boxes: tuple[PageBox, ...] = ()
    word_boxes: tuple[PageBox, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page of a PDF as a converting process has drawn it."""

    pages: int
    content: Base64Bytes
    """As PNG; empty, where it has no such page."""
    boxed: int


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page of a PDF as a client gets it."""

    content: bytes
    page: int
    pages: int
    boxed: int
