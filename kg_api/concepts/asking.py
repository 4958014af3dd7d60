"""A question for concepts: where it is looked for, and its vector in each space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.errors import InvalidInput
from kg_api.graph.database import Graph
from kg_api.graph.jobs import Progress
from kg_api.graph.search.concepts import Meaning, has_concepts
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.search import Degradation
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.plans import OntologySnapshot
from kg_api.spaces.registry import SpaceRegistry

MAX_SHOWN = 10
EXTRACTION = "sources are still to be read for concepts{}; until then they lead to none"
EMBEDDING = "concepts are still to be embedded{}; until then they are found by their words only"


@dataclass(frozen=True, slots=True)
class ConceptQuery:
    ontologies: list[str]
    """Those there are of those that were asked for."""
    meanings: list[Meaning]
    degraded: list[Degradation] = field(default_factory=list[Degradation])


def question(
    text: str, wanted: Sequence[str] | None, known: OntologySnapshot, spaces: SpaceRegistry
) -> ConceptQuery:
    """Embed a question once in each space that answers for one of its ontologies.

    Args:
        text: what is looked for.
        wanted: ontologies to look into; None: all.
        known: all ontologies.
        spaces: the models.

    Raises:
        NotFound: one of those wanted does not exist.
    """
    known.require_known(wanted)
    embedding_states = known.embedding_states
    names = [*(embedding_states if wanted is None else dict.fromkeys(wanted))]
    asked = ConceptQuery(names, [])
    by_space: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        space = embedding_states[name].answering.space
        by_space.setdefault(space.slug, (space, []))[1].append(name)
    for space, ontologies in by_space.values():
        try:
            opened = spaces.of(space)
            vector = opened.embed_query(text)
            opened.calibrate_labels_soon()
        except (*FAULTS, InvalidInput) as error:  # a provider may refuse what is a fine question to full text
            effect = f"the question could not be embedded ({error}): concepts were searched by words only"
            asked.degraded.append(Degradation(part="embedding", effect=effect))
        else:
            asked.meanings.append(Meaning(space, vector, ontologies))
    return asked


def under_way(progress: Mapping[str, Progress], ontologies: Collection[str], what: str) -> list[Degradation]:
    """How far some work is in each of some ontologies, where it goes on; no numbers until it is counted.

    Args:
        progress: by ontology.
        ontologies: those that are told of.
        what: waits, and what that means; the numbers go where it has braces.
    """
    waiting = [(name, at) for name, at in progress.items() if name in ontologies][:MAX_SHOWN]
    counts = [
        f" ({at.done} of the {at.total} that were due are done)" if at.total else "" for _, at in waiting
    ]
    return [
        Degradation(part="concepts", effect=f"{name}: {what.format(count)}")
        for (name, _), count in zip(waiting, counts, strict=True)
    ]


def none_yet(graph: Graph, ontologies: Sequence[str]) -> list[Degradation]:
    """That there is no concept at all in some ontologies. Of none nothing is said: they are not there."""
    if not ontologies or has_concepts(graph, ontologies):
        return []
    effect = (
        "there are no concepts yet where it was searched: the status of their extraction "
        "(`kg admin concepts status --ontology ONTOLOGY`) says why"
    )
    return [Degradation(part="concepts", effect=effect)]
