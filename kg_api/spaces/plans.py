"""How each ontology shall be embedded at this moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from kg_api.chunk.plan import CHUNKER_VERSION
from kg_api.errors import NotFound
from kg_api.graph.configuration import read_configurations
from kg_api.graph.database import Graph
from kg_api.graph.due import Mark
from kg_api.graph.library import Counted
from kg_api.graph.spaces import Space, all_spaces
from kg_api.models.configuration import EmbeddingConfig
from kg_api.models.identity import digest

REMEMBERED_SECONDS = 1.0
MARK_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """One ontology's configuration, its space, and the mark of a source that is embedded that way."""

    ontology: str
    config: EmbeddingConfig
    space: Space
    mark: Mark

    @property
    def counted(self) -> Counted:
        """As the library counts it."""
        return Counted(self.ontology, self.space.slug, self.mark)


def plan_of(ontology: str, config: EmbeddingConfig, space: Space) -> Plan:
    """Work out the mark: it changes when anything does that decides over chunks or their vectors."""
    chunking = json.dumps(config.chunking.model_dump(), sort_keys=True)
    value = digest("mark", space.fingerprint, CHUNKER_VERSION, chunking)[:MARK_DIGITS]
    return Plan(ontology, config, space, Mark(space.mark_property, value))


def read_plans(graph: Graph, name: str | None = None) -> dict[str, Plan]:
    """By ontology, in the order of their names; that of one name only, if given."""
    configurations = read_configurations(graph, name)
    spaces = all_spaces(graph)  # read after them, so that every space that is named is there
    return {
        ontology: plan_of(ontology, config, spaces[config.space])
        for ontology, config in configurations.items()
    }


def read_plan(graph: Graph, ontology: str) -> Plan:
    """The plan of one ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    plans = read_plans(graph, ontology)
    if ontology not in plans:
        raise NotFound(f"there is no ontology {ontology!r}; `kg ontologies` lists those there are")
    return plans[ontology]


class PlanWatch:
    """Remembers the plans for a second, so that a search costs no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read_at = float("-inf")
        self._plans: dict[str, Plan] = {}
        self._reading = threading.Lock()

    def plans(self, wanted: Iterable[str] = (), *, fresh: bool = False) -> dict[str, Plan]:
        """All of them, at most a second old; read anew when one that is wanted is not known."""
        with self._reading:  # one reads for all that ask
            too_old = time.monotonic() - self._read_at > REMEMBERED_SECONDS
            if fresh or too_old or not self._plans.keys() >= set(wanted):
                self._plans = read_plans(self._graph)
                self._read_at = time.monotonic()
            return self._plans
