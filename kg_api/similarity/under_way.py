"""What is not embedded yet cannot be compared; answers say so."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kg_api.graph.jobs import Progress
from kg_api.models.queries.search import Degradation

MAX_SHOWN = 10


def under_way(progress: Mapping[str, Progress], ontologies: Collection[str]) -> list[Degradation]:
    """How far each of some ontologies is embedded, where that is not at its end."""
    waiting = [(name, at) for name, at in progress.items() if name in ontologies][:MAX_SHOWN]
    effects = [
        f"{name}: embedding is under way ({at.done} of {at.total} sources); the others are not compared"
        for name, at in waiting
    ]
    return [Degradation(part="vectors", effect=effect) for effect in effects]
