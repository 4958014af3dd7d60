"""How each ontology shall be embedded at this moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kg_api.errors import NotFound, Unavailable
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import ConceptPlan
from kg_api.graph.fulltext import OntologyWords, all_words
from kg_api.graph.images import ImagePlan
from kg_api.graph.library import Counted
from kg_api.graph.names import describe_waiting, unknown_ontology
from kg_api.graph.reach import reach, reaches
from kg_api.graph.relations import EdgeLabel, EdgePlan
from kg_api.graph.search import Crowds, SharedReading
from kg_api.graph.spaces import (
    MARK_DIGITS,
    Layout,
    Mark,
    Space,
    StoredConfiguration,
    all_spaces,
    count_ontologies,
    mark_of,
    read_configurations,
)
from kg_api.graph.vectors import Wanted
from kg_api.schemas.base import digest
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.vocabulary import Selection
from kg_api.spaces.registry import space_of_new
from kg_api.suggestions import MAX_NAMED, no_ontology
from kg_api.text.chunking import CHUNKER_VERSION
from kg_api.text.windows import WINDOW_VERSION


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to embed an ontology, the slot of the space for it, and the mark of a source embedded so."""

    ontology: str
    config: EmbeddingConfig
    space: Space
    mark: Mark


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """How an ontology shall be embedded, and what answers until it is."""

    target: Plan
    serving: Plan | None
    """What answers searches while the target is being built; None: the target itself."""
    configured: StoredConfiguration
    image_plans: Sequence[ImagePlan] = ()
    """How its pictures are kept up, the space that answers first; nothing where there is none."""

    @property
    def ontology(self) -> str:
        return self.target.ontology

    @property
    def identity(self) -> tuple[StoredConfiguration, list[Mark]]:
        """Equal as long as nothing has changed of what is stored, and of the models."""
        return self.configured, [plan.mark for plan in (*self.plans, *self.image_plans)]

    @property
    def answering(self) -> Plan:
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
    def edge_plans(self) -> list[EdgePlan]:
        """How its relationships and their types are kept up, the space that answers first."""
        places = [(plan.space, plan.answering) for plan in self.concept_plans]
        labels: tuple[EdgeLabel, ...] = ("RELATED_TO", "RelationType")
        return [EdgePlan(self.ontology, *place, label) for place in places for label in labels]

    @property
    def target_edge_plans(self) -> list[EdgePlan]:
        """Those of the space that shall answer."""
        return [plan for plan in self.edge_plans if plan.space.slug == self.target.space.slug]

    @property
    def counted(self) -> Counted:
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
    return Plan(ontology, config, space, mark_of("Source", space, value))


def embedding_state_of(
    ontology: str, configured: StoredConfiguration, spaces: Mapping[str, Space]
) -> EmbeddingState:
    """Work out the plans of one ontology."""

    def plan(layout: Layout) -> Plan:
        if layout.space not in spaces:
            raise Unavailable(
                f"an embedding space that is used, {layout.space!r}, is not registered; "
                "the one of the settings is at the next start: kg down, kg up"
            )
        config = layout.config(embed_on_ingest=configured.embed_on_ingest)
        return plan_of(ontology, config, spaces[layout.space].at(layout.slot))

    serving = plan(configured.serving) if configured.serving else None
    # Those whose space is there: a kg that was never started with pictures has none
    there = [spaces[slug] for slug in configured.images.kept_up if slug in spaces]
    images = tuple(ImagePlan(ontology, space, there[0]) for space in there)
    return EmbeddingState(plan(configured.target), serving, configured, images)


def read_embedding_states(graph: Graph, name: str | None = None) -> dict[str, EmbeddingState]:
    """By ontology that can be seen, in the order of their names; that of one name only, if given."""
    configurations = read_configurations(graph, name)  # spaces after: each that is named is there then
    seen = {ontology: each for ontology, each in configurations.items() if reaches(ontology)}
    return _embedding_states(seen, all_spaces(graph))


def _embedding_states(
    configurations: Mapping[str, StoredConfiguration], spaces: Mapping[str, Space]
) -> dict[str, EmbeddingState]:
    return {
        ontology: embedding_state_of(ontology, configured, spaces)
        for ontology, configured in configurations.items()
    }


def read_embedding_state(graph: Graph, ontology: str) -> EmbeddingState:
    """How one ontology stands.

    Raises:
        NotFound: there is no such ontology.
    """
    embedding_states = read_embedding_states(graph, ontology)
    if ontology not in embedding_states:
        raise unknown_ontology(graph, ontology)
    return embedding_states[ontology]


def select_embedding_states(graph: Graph, names: Sequence[str] | None) -> list[EmbeddingState]:
    """How some ontologies stand; all of them for None.

    Raises:
        NotFound: one is not there.
    """
    embedding_states = read_embedding_states(graph)
    if unknown := [name for name in names or () if name not in embedding_states]:
        raise NotFound(f"{no_ontology(unknown, embedding_states)}; `kg ontologies` lists the existing ones")
    return [embedding_states[name] for name in (embedding_states if names is None else names)]


@dataclass(frozen=True, slots=True)
class OntologySnapshot:
    """What was known of all ontologies at one moment."""

    embedding_states: dict[str, EmbeddingState]
    new: Space
    """The space of ontologies that nobody has configured."""
    crowd: Callable[[Sequence[str] | None], int] = lambda _: 0
    """Says about how many passages some ontologies have, or all."""
    words: Mapping[str, OntologyWords] = field(default_factory=dict[str, OntologyWords])
    """What ontologies say of their words, of those that say anything."""
    waiting: Callable[[Sequence[str]], str] = lambda _: ""
    """Says what waits for approval to be in ontologies that are not there."""

    def seen(self) -> OntologySnapshot:
        """What of it whoever asks can see."""
        if reach() is None:
            return self
        states = {name: state for name, state in self.embedding_states.items() if reaches(name)}
        words = {name: each for name, each in self.words.items() if reaches(name)}
        return replace(self, embedding_states=states, words=words)

    def synonyms_of(self, wanted: Sequence[str] | None) -> list[Sequence[str]]:
        """Words that some ontologies take for each other, or all."""
        names = self.words if wanted is None else wanted
        return [group for name in names if name in self.words for group in self.words[name].synonyms]

    def languages_of(self, wanted: Sequence[str] | None) -> frozenset[str | None]:
        """Those of the sources of some ontologies, or of all; None where each source has its own."""
        names = self.embedding_states if wanted is None else wanted
        return frozenset(self.words[name].language if name in self.words else None for name in names)

    @property
    def answering(self) -> dict[str, Space]:
        """The slot of a space that answers for each ontology."""
        return {name: each.answering.space for name, each in self.embedding_states.items()}

    @property
    def image_spaces(self) -> dict[str, Space]:
        """The space of pictures that answers for each ontology that has one."""
        states = self.embedding_states.items()
        return {name: each.image_plans[0].space for name, each in states if each.image_plans}

    def space_of(self, ontology: str) -> Space:
        """The slot of a space that answers for an ontology, or would."""
        known = self.embedding_states.get(ontology)
        return known.answering.space if known else self.new

    def there(self, wanted: Sequence[str] | None) -> list[str]:
        """Those ontologies of a request that are there; None asks for all."""
        known = self.embedding_states
        return [*known] if wanted is None else [name for name in wanted if name in known]

    def require_known(self, wanted: Sequence[str] | None) -> None:
        """Require that every ontology which a request names exists.

        Raises:
            NotFound: one does not; the message suggests the closest names.
        """
        if unknown := [name for name in wanted or () if name not in self.embedding_states]:
            told = no_ontology(unknown[:MAX_NAMED], self.embedding_states) + self.waiting(unknown)
            raise NotFound(f"{told}; `kg ontologies` lists the existing ones")


class PlanWatch:
    """Remembers for a second how the ontologies stand, so that a search costs no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._crowds = Crowds(graph)
        self._reading = SharedReading(self._read)

    def known(
        self, wanted: Iterable[str] = (), *, fresh: bool = False, new_too: bool = False
    ) -> OntologySnapshot:
        """All of them, at most a second old; read anew when one that is wanted is not known, or if `fresh`.

        With `new_too` also when an ontology was made since, which costs a round trip to know.
        """
        known = None if fresh else self._reading.remembered()
        anew = known is None and (fresh or new_too)
        if known is None:
            known = self._reading.read(anew=anew)
        if not anew and not self._has_all(known, wanted, new_too=new_too):
            known = self._reading.read(anew=True)
        return known.seen()

    def _has_all(self, known: OntologySnapshot, wanted: Iterable[str], *, new_too: bool) -> bool:
        there = known.embedding_states
        return there.keys() >= set(wanted) and not (new_too and len(there) != count_ontologies(self._graph))

    def _read(self) -> OntologySnapshot:
        configurations = read_configurations(self._graph)
        spaces = all_spaces(self._graph)
        states = _embedding_states(configurations, spaces)
        words = all_words(self._graph)
        waiting = partial(describe_waiting, self._graph)
        return OntologySnapshot(states, space_of_new(spaces), self._crowds.of, words, waiting)
