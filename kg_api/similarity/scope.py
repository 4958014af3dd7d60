"""Which ontologies can be compared with a source: those of the same model, as far as embedded. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.filters.sources import SourceFilter
from kg_api.graph.jobs import Progress
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import Degradation
from kg_api.spaces.plans import OntologySnapshot

MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Comparable:
    """Where vectors of one model are."""

    space: Space
    slots: list[tuple[Space, list[str]]]
    """Each slot of the space, and the ontologies that it answers; both slots have the same model."""
    elsewhere: list[str]
    """Ontologies that another model answers."""
    unknown: list[Degradation] = field(default_factory=list[Degradation])
    """That no document fits."""
    documents: Sequence[str] | None = None
    """Only these; None: all but the one that is compared."""
    sources: SourceFilter = field(default_factory=SourceFilter)
    """Which of their sources."""

    @property
    def ontologies(self) -> list[str]:
        return [name for _, names in self.slots for name in names]

    def degradations(self) -> list[Degradation]:
        """What cannot be compared, if there is anything."""
        if not self.elsewhere:
            return self.unknown
        more = " and more" if len(self.elsewhere) > MAX_SHOWN else ""
        effect = (
            f"vectors of two models cannot be compared, so these ontologies, which another space than "
            f"{self.space.slug!r} answers, were left out: {', '.join(self.elsewhere[:MAX_SHOWN])}{more}"
        )
        return [*self.unknown, Degradation(part="vectors", effect=effect)]


def comparable(space: Space, wanted: Sequence[str] | None, known: OntologySnapshot) -> Comparable:
    """Work out what can be compared with vectors of a space.

    Args:
        space: whose vectors they are, in either slot.
        wanted: ontologies to look into; None: all.
        known: all ontologies.

    Raises:
        NotFound: one of those wanted does not exist.
    """
    known.require_known(wanted)
    spaces = known.answering
    names = [name for name in (spaces if wanted is None else wanted) if name in spaces]
    slots: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        if spaces[name].slug == space.slug:
            slots.setdefault(spaces[name].key, (spaces[name], []))[1].append(name)
    elsewhere = sorted(name for name in names if spaces[name].slug != space.slug)
    return Comparable(space, list(slots.values()), elsewhere)


def under_way(
    progress: Mapping[str, Progress], ontologies: Collection[str], others: str = "are not compared"
) -> list[Degradation]:
    """How far each of some ontologies is embedded, where that is not at its end, and what of the others."""
    waiting = [(name, at) for name, at in progress.items() if name in ontologies][:MAX_SHOWN]
    effects = [
        f"{name}: embedding is under way ({at.done} of {at.total} sources); the others {others}"
        for name, at in waiting
    ]
    return [Degradation(part="vectors", effect=effect) for effect in effects]
