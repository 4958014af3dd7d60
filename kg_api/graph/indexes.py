"""Whether the indexes that searches need are there and fully populated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kg_api.graph.database import Graph


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index as the server reports it; `percent` says how much of it is populated."""

    name: str
    type: str
    state: str
    percent: float
    options: dict[str, Any]

    @property
    def online(self) -> bool:
        """Whether it answers with all that is stored."""
        return self.state == "ONLINE"


def index_states(graph: Graph) -> dict[str, IndexState]:
    """All indexes but the lookup ones, by name."""
    return {row["name"]: IndexState(**row) for row in graph.read("indexes/states")}
