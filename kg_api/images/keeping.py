"""Putting the files of a document where they are kept, before the document itself is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kg_api.blobs.port import key_of
from kg_api.images.files import StoredFiles
from kg_api.models.images import ReadImage, StoredImage


@dataclass(frozen=True, slots=True)
class KeptImages:
    """Pictures in the order in which they were given."""

    images: list[StoredImage]
    original: str | None
    """The key of the file that they were found in, where that is kept."""
    hold: str | None
    """What keeps all of these files until their document is stored."""


class ImageKeeper(Protocol):
    def keep(self, images: Sequence[ReadImage], original: bytes | None = None) -> KeptImages:
        """Keep the files of some pictures, and the one that they were found in if it is given."""
        ...


@dataclass(frozen=True, slots=True)
class StoringKeeper:
    """Writes the files into the store, where they stay as long as somebody uses them."""

    files: StoredFiles

    def keep(self, images: Sequence[ReadImage], original: bytes | None = None) -> KeptImages:
        """See `StoredFiles.keep`.

        Raises:
            Unavailable: the database or the store does not answer; nothing is stored.
        """
        contents = [content for each in images for content in (each.content, each.thumbnail)]
        contents += [] if original is None else [original]
        if not contents:
            return KeptImages([], None, None)
        return _kept(images, original, self.files.keep(contents))


class LookingKeeper:
    """Keeps nothing: for looking at what a document would be."""

    def keep(self, images: Sequence[ReadImage], original: bytes | None = None) -> KeptImages:
        """What they would be stored as."""
        return _kept(images, original, None)


def _kept(images: Sequence[ReadImage], original: bytes | None, hold: str | None) -> KeptImages:
    key = None if original is None else key_of(original)
    return KeptImages([_stored(each) for each in images], key, hold)


def _stored(image: ReadImage) -> StoredImage:
    return StoredImage(
        storage_key=key_of(image.content),
        thumbnail_key=key_of(image.thumbnail),
        content_type=image.content_type,
        width=image.width,
        height=image.height,
        bytes=len(image.content),
        perceptual_hash=image.perceptual_hash,
    )
