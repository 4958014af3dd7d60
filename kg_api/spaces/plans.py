"""How each ontology shall be embedded at this moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kg_api.chunk.plan import CHUNKER_VERSION
from kg_api.chunk.windows import WINDOW_VERSION
from kg_api.errors import NotFound, Unavailable
from kg_api.graph.concept_vectors import ConceptPlan
from kg_api.graph.configuration import Configured, Layout, read_configurations
from kg_api.graph.database import Graph
from kg_api.graph.due import Mark, Wanted
from kg_api.graph.library import Counted
from kg_api.graph.naming import unknown_ontology
from kg_api.graph.spaces import Space, all_spaces
from kg_api.models.configuration import EmbeddingConfig
from kg_api.models.identity import digest
from kg_api.models.jobs import Selection
from kg_api.models.spaces import FIRST_SLUG
from kg_api.nearest import no_ontology

REMEMBERED_SECONDS = 1.0
MARK_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to embed an ontology, the slot of the space for it, and the mark of a source embedded so."""

    ontology: str
    config: EmbeddingConfig
    space: Space
    mark: Mark


@dataclass(frozen=True, slots=True)
class Standing:
    """How an ontology shall be embedded, and what answers until it is."""

    target: Plan
    serving: Plan | None
    """What answers searches while the target is being built; None: the target itself."""
    configured: Configured

    @property
    def ontology(self) -> str:
        """Whose."""
        return self.target.ontology

    @property
    def identity(self) -> tuple[Configured, list[Mark]]:
        """Equal as long as nothing has changed of what is stored, and of the models."""
        return self.configured, [plan.mark for plan in self.plans]

    @property
    def answering(self) -> Plan:
        """What answers searches."""
        return self.serving or self.target

    @property
    def plans(self) -> list[Plan]:
        """Those that are kept up, the one that answers first."""
        return [self.target] if self.serving is None else [self.serving, self.target]

    @property
    def concept_plans(self) -> list[ConceptPlan]:
        """How its concepts are kept up, the space that answers first; chunking does not concern them."""
        answering = self.answering.space.at("")
        spaces = {plan.space.slug: plan.space.at("") for plan in self.plans}
        all_of_them = self.configured.wants_concepts
        return [ConceptPlan(self.ontology, space, answering, all_of_them) for space in spaces.values()]

    @property
    def counted(self) -> Counted:
        """As the library counts it."""
        building = self.serving is not None
        space, answering = self.answering.space.slug, self.answering.mark.key
        return Counted(self.ontology, space, self.target.mark, answering, building)

    def wanted(
        self,
        plan: Plan,
        *,
        selection: Selection = "due",
        forced_at: object = None,
        within: tuple[str, str] = ("", ""),
    ) -> Wanted:
        """The sources that are to be embedded by one of its plans."""
        answering = self.answering.mark.key
        return Wanted(self.ontology, plan.mark, answering, selection, forced_at, within)


def plan_of(ontology: str, config: EmbeddingConfig, space: Space) -> Plan:
    """Work out the mark: it changes when anything does that decides over chunks or their vectors."""
    chunking = json.dumps(config.chunking.model_dump(), sort_keys=True)
    windows = (WINDOW_VERSION,) if config.is_late else ()
    value = digest("mark", space.fingerprint, CHUNKER_VERSION, chunking, *windows)[:MARK_DIGITS]
    mark = Mark(space.mark_property, value, space.time_property, space.refusal_property)
    return Plan(ontology, config, space, mark)


def standing_of(ontology: str, configured: Configured, spaces: Mapping[str, Space]) -> Standing:
    """Work out the plans of one ontology."""

    def plan(layout: Layout) -> Plan:
        if layout.space not in spaces:
            raise Unavailable(
                f"the embedding space {layout.space!r} of {ontology!r} is not registered; "
                "the one of the settings is at the next start: kg down, kg up"
            )
        config = layout.config(embed_on_ingest=configured.embed_on_ingest)
        return plan_of(ontology, config, spaces[layout.space].at(layout.slot))

    serving = plan(configured.serving) if configured.serving else None
    return Standing(plan(configured.target), serving, configured)


def read_standings(graph: Graph, name: str | None = None) -> dict[str, Standing]:
    """By ontology, in the order of their names; that of one name only, if given."""
    configurations = read_configurations(graph, name)
    return _standings(
        configurations, all_spaces(graph)
    )  # spaces after, so that every one that is named is there


def _standings(configurations: Mapping[str, Configured], spaces: Mapping[str, Space]) -> dict[str, Standing]:
    return {
        ontology: standing_of(ontology, configured, spaces) for ontology, configured in configurations.items()
    }


def space_of_new(spaces: Mapping[str, Space]) -> Space:
    """The space of ontologies that nobody has configured."""
    chosen = [space for space in spaces.values() if space.for_new or space.slug == FIRST_SLUG]
    if not chosen:
        raise Unavailable("no embedding space is registered; one is at the next start: kg down, kg up")
    return max(chosen, key=lambda space: space.for_new)


def read_standing(graph: Graph, ontology: str) -> Standing:
    """How one ontology stands.

    Raises:
        NotFound: there is no such ontology.
    """
    standings = read_standings(graph, ontology)
    if ontology not in standings:
        raise unknown_ontology(graph, ontology)
    return standings[ontology]


def chosen_standings(graph: Graph, names: Sequence[str] | None) -> list[Standing]:
    """How some ontologies stand; all of them for None.

    Raises:
        NotFound: one is not there.
    """
    standings = read_standings(graph)
    if unknown := [name for name in names or () if name not in standings]:
        raise NotFound(f"{no_ontology(unknown, standings)}; `kg ontologies` lists those there are")
    return [standings[name] for name in (standings if names is None else names)]


@dataclass(frozen=True, slots=True)
class Known:
    """What was known of all ontologies at one moment."""

    standings: dict[str, Standing]
    new: Space
    """The space of ontologies that nobody has configured."""


class PlanWatch:
    """Remembers for a second how the ontologies stand, so that a search costs no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read_at = float("-inf")
        self._known: Known | None = None
        self._reading = threading.Lock()

    def known(self, wanted: Iterable[str] = (), *, fresh: bool = False) -> Known:
        """All of them, at most a second old; read anew when one that is wanted is not known."""
        with self._reading:  # one reads for all that ask
            too_old = time.monotonic() - self._read_at > REMEMBERED_SECONDS
            known = self._known
            if known is None or fresh or too_old or not known.standings.keys() >= set(wanted):
                self._known = known = self._read()
                self._read_at = time.monotonic()
            return known

    def _read(self) -> Known:
        configurations = read_configurations(self._graph)
        spaces = all_spaces(self._graph)
        return Known(_standings(configurations, spaces), space_of_new(spaces))
