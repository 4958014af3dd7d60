"""Ontologies, index states, and job progress, cached for one second and shared within a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.filters import RememberedFilters
from kg_api.graph.fulltext import OntologyWords, read_all_word_settings
from kg_api.graph.jobs import SOURCE_EMBEDDING, Progress, read_embedding_progress
from kg_api.graph.reach import get_visible_ontologies, is_visible
from kg_api.graph.schema import read_index_states
from kg_api.graph.search import CachedRead, OntologySizes
from kg_api.graph.spaces import Space, read_configurations, read_spaces
from kg_api.spaces.plans import EmbeddingState, build_embedding_state
from kg_api.spaces.registry import get_default_space
from kg_api.suggestions import MAX_NAMED, describe_unknown_ontology


@dataclass(frozen=True, slots=True)
class OntologySnapshot:
    embedding_states: dict[str, EmbeddingState]
    new: Space  # default space of new ontologies
    crowd: Callable[[Sequence[str] | None], int] = lambda _: 0
    """Returns the approximate number of passages in some ontologies, or in all."""
    words: Mapping[str, OntologyWords] = field(default_factory=dict[str, OntologyWords])
    """Language and synonyms, for ontologies that define any."""

    def select_visible(self) -> OntologySnapshot:
        """Return the part that the caller may see."""
        if get_visible_ontologies() is None:
            return self
        states = {name: state for name, state in self.embedding_states.items() if is_visible(name)}
        words = {name: each for name, each in self.words.items() if is_visible(name)}
        return replace(self, embedding_states=states, words=words)

    def select_synonyms(self, wanted: Sequence[str] | None) -> list[Sequence[str]]:
        names = self.words if wanted is None else wanted
        return [group for name in names if name in self.words for group in self.words[name].synonyms]

    def get_languages(self, wanted: Sequence[str] | None) -> frozenset[str | None]:
        """Get the languages of some ontologies, or of all. None: each source has its own language."""
        names = self.embedding_states if wanted is None else wanted
        return frozenset(self.words[name].language if name in self.words else None for name in names)

    def has_parents(self, names: Iterable[str]) -> bool:
        """Check if any ontology may have parent chunks, which replace their children in results."""
        states = (self.embedding_states.get(name) for name in names)
        return any(each.answering.config.strategy == "hierarchical" for each in states if each)

    @property
    def answering(self) -> dict[str, Space]:
        """Active index slot by ontology."""
        return {name: each.answering.space for name, each in self.embedding_states.items()}

    @property
    def image_spaces(self) -> dict[str, Space]:
        states = self.embedding_states.items()
        return {name: each.images[0].space for name, each in states if each.images}

    def get_space(self, ontology: str) -> Space:
        known = self.embedding_states.get(ontology)
        return known.answering.space if known else self.new

    def keep_existing(self, wanted: Sequence[str] | None) -> list[str]:
        """Return the existing ontologies of a request. None: all."""
        known = self.embedding_states
        return [*known] if wanted is None else [name for name in wanted if name in known]

    def require_known(self, wanted: Sequence[str] | None) -> None:
        """Raise NotFound if a requested ontology does not exist."""
        if unknown := [name for name in wanted or () if name not in self.embedding_states]:
            message = describe_unknown_ontology(unknown[:MAX_NAMED], self.embedding_states)
            raise NotFound(f"{message}. `kg ontologies` lists the existing ones")


ProgressReading = CachedRead[dict[str, Progress]]  # progress of one kind of unfinished jobs, by ontology


class Snapshots:
    """The latest readings, at most one second old. Thread-safe. Searches need no extra round trip."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.filters = RememberedFilters(graph)
        self._crowds = OntologySizes(graph)
        self._ontologies = CachedRead(self._read)
        self._indexes = CachedRead(lambda: read_index_states(graph))
        self._absent = frozenset[str]()
        self._progress: dict[str, ProgressReading] = {}

    def get(
        self, wanted: Iterable[str] = (), *, fresh: bool = False, new_too: bool = False
    ) -> OntologySnapshot:
        """Return visible ontologies. `fresh` ignores the cache, and `new_too` also detects new ontologies."""
        known = None if fresh else self._ontologies.get_cached()
        anew = known is None and (fresh or new_too)
        if known is None:
            known = self._ontologies.read(anew=anew)
        if not anew:
            there = known.embedding_states
            grown = new_too and len(there) != self._graph.read("ontologies/count")[0]["ontologies"]
            if grown or not there.keys() >= set(wanted):
                known = self._ontologies.read(anew=True)
        return known.select_visible()

    def read_populating(self, *names: str) -> dict[str, str]:
        """Return the state of each named index that is not online."""
        states = self._indexes.get()
        if set(names) - states.keys() - self._absent:
            states = self._indexes.read(anew=True)
            self._absent |= frozenset(names) - states.keys()
        degradations = dict[str, str]()
        for name in names:
            state = states.get(name)
            if state is None:
                degradations[name] = "not there"
            elif not state.online:
                degradations[name] = f"{state.state.lower()}, {state.percent:.0f} % populated"
        return degradations

    def get_progress(self, kind: str = SOURCE_EMBEDDING) -> ProgressReading:
        """Return the shared reading of a kind of jobs."""
        return self._progress.setdefault(kind, CachedRead(partial(self._read_progress, kind)))

    def _read_progress(self, kind: str) -> dict[str, Progress]:
        progress = read_embedding_progress(self._graph, kind)
        if kind != SOURCE_EMBEDDING:
            return progress
        states = self._ontologies.get().embedding_states
        return {
            name: replace(at, replaces=at.replaces or (name in states and states[name].serving is not None))
            for name, at in progress.items()
        }

    def _read(self) -> OntologySnapshot:
        configurations = read_configurations(self._graph)
        spaces = read_spaces(self._graph)
        states = {name: build_embedding_state(name, each, spaces) for name, each in configurations.items()}
        return OntologySnapshot(
            states, get_default_space(spaces), self._crowds.count, read_all_word_settings(self._graph)
        )


_shared: dict[Graph, Snapshots] = {}


def share_snapshots(graph: Graph) -> None:
    """Share snapshots among all services of a database until `forget_snapshots`."""
    _shared[graph] = Snapshots(graph)


def forget_snapshots(graph: Graph) -> None:
    _shared.pop(graph, None)


def get_snapshots(graph: Graph) -> Snapshots:
    """Get the shared snapshots, or new ones if none are shared."""
    return _shared.get(graph) or Snapshots(graph)
