"""What the searches of all pieces could not do, each thing once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kg_api.models.queries.augment import AugmentDegradation
from kg_api.models.queries.search import Degradation

_NUMBER = re.compile(r"\d+")


def together(told: Iterable[tuple[int, Degradation]]) -> list[AugmentDegradation]:
    """Join what was told of pieces, by their numbers; numbers within an effect make no difference."""
    first: dict[tuple[str, str], tuple[Degradation, list[int]]] = {}
    for piece, each in told:
        key = (each.part, _NUMBER.sub("#", each.effect))
        pieces = first.setdefault(key, (each, []))[1]
        if piece not in pieces:
            pieces.append(piece)
    return [
        AugmentDegradation(part=each.part, effect=each.effect, pieces=pieces)
        for each, pieces in first.values()
    ]
