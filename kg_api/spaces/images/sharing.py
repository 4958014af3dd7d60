"""Which spaces of pictures and of texts are one: vectors of both may be compared. Pure."""

from __future__ import annotations

from typing import Final

from kg_api.models.embedding.spaces import SpaceIdentity

ONE_SPACE: Final = {"nomic-embed-vision-v1.5": "nomic-embed-text-v1.5"}
"""Models of pictures that were trained into the space of a model of texts (Nomic, 2024)."""


def is_one_space(pictures: SpaceIdentity, texts: SpaceIdentity) -> bool:
    """Whether a picture's vector can be compared with those of passages.

    That is known of some models, and of one that embeds both.
    """
    if (pictures.provider, pictures.dimensions) != (texts.provider, texts.dimensions):
        return False
    both = (pictures.model, pictures.revision) == (texts.model, texts.revision)
    return both or ONE_SPACE.get(pictures.model) == texts.model
