"""The words that stand for pictures, and where in their document. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kg_api.models.images import FoundImage, PlacedImage, StoredImage
from kg_api.models.library.conversion import Converted
from kg_api.models.library.metadata import MetadataValue

_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")
SAYING: Final = ("description", "caption")
"""Metadata that says what is to be seen."""
_SUFFIX = re.compile(r"\.\w{1,5}$")


def place_images(found: Sequence[FoundImage], stored: Sequence[StoredImage]) -> tuple[PlacedImage, ...]:
    """Pictures with their files, each at its place."""
    both = zip(found, stored, strict=True)
    return tuple(PlacedImage(each.start, each.end, image) for each, image in both)


def with_words(
    made: Converted, document: str, title: str | None, metadata: Mapping[str, MetadataValue]
) -> Converted:
    """A picture that is a document of its own: what is said of it stands before what it says itself.

    The words of its name and folders, and the title, description and caption that it is given, a line each.
    """
    given = [title, *(metadata.get(key) for key in SAYING)]
    lines = [" ".join(each.split()) for each in given if isinstance(each, str)]
    own = {*made.text.splitlines()}
    said = dict.fromkeys([words_of_name(document), *(line for line in lines if line not in own)])
    text = "\n".join(filter(None, (*said, made.text)))
    return replace(made, text=text, images=tuple(replace(each, end=len(text)) for each in made.images))


def words_of_name(document: str) -> str:
    """`2019/RedBoat_02.jpg` as `2019 Red Boat 02`; a name without words as it is."""
    words = _BETWEEN.sub(" ", _SUFFIX.sub("", document)).split()
    return " ".join(words) or document
