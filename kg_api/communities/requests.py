"""Asking for communities: because enough has changed, or by a person."""

from __future__ import annotations

import time

from kg_api.communities.summary import CommunitySummary, mark_of
from kg_api.graph.communities.concept_graph import read_size
from kg_api.graph.communities.generations import StoredState, read_state, read_states
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs.records import COMMUNITY_DETECTION, CONCEPT_EMBEDDING, EXTRACTION
from kg_api.graph.jobs.requests import ensure_job, is_any_asked_for, request_job
from kg_api.graph.jobs.views import rests
from kg_api.model_settings.communities import CommunitySettings

BEFORE = (EXTRACTION, CONCEPT_EMBEDDING)
"""Work after which communities are found: it finds concepts, and merges them."""


class CommunityRequests:
    """Makes the jobs that find communities."""

    def __init__(self, graph: Graph, settings: CommunitySettings) -> None:
        self._graph = graph
        self._settings = settings
        self._begun = time.monotonic()

    def look(self) -> None:
        """Make the jobs of ontologies of which enough has changed, when they are read."""
        if not self._settings.enabled:
            return
        for state in read_states(self._graph):
            under_way = is_any_asked_for(self._graph, BEFORE, state.ontology)
            if not under_way and (due := self._due(state)):
                self._ensure(state.ontology, due)

    def begin(self, ontology: str) -> str:
        """Find communities now; the job that does.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        read_state(self._graph, ontology)
        size = read_size(self._graph, ontology)

        def ask(tx: Transaction) -> str:
            return request_job(tx, COMMUNITY_DETECTION, ontology, added=size.concepts)

        return self._graph.transaction(ask)

    def changed(self, state: StoredState) -> float:
        """The share of what communities are of that has changed since, 0 to 1; 1 where none were made yet."""
        if state.summary is None:
            return 1.0
        size = read_size(self._graph, state.ontology, state.at)
        return CommunitySummary.model_validate_json(state.summary).changed(size)

    def is_outdated(self, summary: CommunitySummary) -> bool:
        """Whether other communities would be found in the same concepts, by the settings of now."""
        return summary.mark != mark_of(self._settings)

    def _due(self, state: StoredState) -> int:
        """How many concepts there are, if communities are to be found; 0 if not."""
        size = read_size(self._graph, state.ontology, state.at)
        if state.summary is None:
            return size.concepts
        summary = CommunitySummary.model_validate_json(state.summary)
        enough = summary.changed(size) >= self._settings.changed_share or self.is_outdated(summary)
        return max(size.concepts, 1) if enough else 0

    def _ensure(self, ontology: str, due: int) -> None:
        if not rests(self._graph, COMMUNITY_DETECTION, ontology, at_most=time.monotonic() - self._begun):
            ensure_job(self._graph, COMMUNITY_DETECTION, ontology, total=due)
