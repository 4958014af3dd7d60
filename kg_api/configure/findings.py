"""What is found before a space answers, be it of texts or of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kg_api.errors import KgError
from kg_api.graph.database import Graph
from kg_api.graph.indexes import index_states
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.switching import Finding, SpaceCheck


class CheckedSpace(Protocol):
    def check(self) -> None:
        """See that its model answers as ever."""
        ...


def to_check(space: Space, findings: Iterable[Finding]) -> SpaceCheck:
    """A check with all that was found."""
    found = [*findings]
    return SpaceCheck(slug=space.slug, ok=all(each.ok for each in found), findings=found)


def check_model(opened: CheckedSpace, probe: str) -> Finding:
    """Whether a model answers its probe, a text or a picture, as it did when its space was made."""
    try:
        opened.check()
    except KgError as error:
        return Finding(name="model", ok=False, detail=str(error))
    return Finding(name="model", ok=True, detail=f"answers its {probe} as it always did")


def check_index(graph: Graph, name: str) -> Finding:
    """Whether a vector index is there and online."""
    state = index_states(graph).get(name)
    if state is None:
        return Finding(name="index", ok=False, detail=f"the index {name} is not there")
    told = f"the index {name} is {state.state.lower()}, {state.percent:.0f} % populated"
    return Finding(name="index", ok=state.online, detail=told)
