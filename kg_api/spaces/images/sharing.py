"""Which ontologies share a space of pictures, and which spaces of pictures and of texts are one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.spaces import SpaceIdentity

ONE_SPACE: Final = {"nomic-embed-vision-v1.5": "nomic-embed-text-v1.5"}
"""Models of pictures that were trained into the space of a model of texts (Nomic, 2024)."""


def group_by_space(names: Iterable[str], spaces: Mapping[str, Space]) -> list[tuple[Space, list[str]]]:
    """Ontologies by the space that answers for their pictures; those without one are left out."""
    groups: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        if name in spaces:
            groups.setdefault(spaces[name].slug, (spaces[name], []))[1].append(name)
    return list(groups.values())


def is_one_space(pictures: SpaceIdentity, texts: SpaceIdentity) -> bool:
    """Whether a picture's vector can be compared with those of passages.

    That is known of some models, and of one that embeds both.
    """
    if (pictures.provider, pictures.dimensions) != (texts.provider, texts.dimensions):
        return False
    both = (pictures.model, pictures.revision) == (texts.model, texts.revision)
    return both or ONE_SPACE.get(pictures.model) == texts.model
