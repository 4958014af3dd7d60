"""The words that stand for pictures, and where in their document. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kg_api.models.images import FoundImage, PlacedImage, StoredImage
from kg_api.models.library.conversion import Converted

_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")
_SUFFIX = re.compile(r"\.\w{1,5}$")


def place_images(found: Sequence[FoundImage], stored: Sequence[StoredImage]) -> tuple[PlacedImage, ...]:
    """Pictures with their files, each at its place."""
    both = zip(found, stored, strict=True)
    return tuple(PlacedImage(each.start, each.end, image) for each, image in both)


def with_name(made: Converted, document: str) -> Converted:
    """A picture that is a document of its own; the words of its name and folders stand before its own."""
    text = "\n".join(filter(None, (words_of_name(document), made.text)))
    return replace(made, text=text, images=tuple(replace(each, end=len(text)) for each in made.images))


def words_of_name(document: str) -> str:
    """`2019/RedBoat_02.jpg` as `2019 Red Boat 02`; a name without words as it is."""
    words = _BETWEEN.sub(" ", _SUFFIX.sub("", document)).split()
    return " ".join(words) or document
