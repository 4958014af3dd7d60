"""Asking for links to be looked for: because something is due, or by a person."""

from __future__ import annotations

import contextlib
import time

import structlog

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING, EXTRACTION, LINK_PROPOSAL, SOURCE_EMBEDDING
from kg_api.graph.jobs.requests import ensure_job, is_any_asked_for, request_job
from kg_api.graph.jobs.views import rests
from kg_api.graph.proposals.configuration import (
    StoredProposals,
    flag_again,
    read_all_proposals,
    read_proposals,
)
from kg_api.graph.proposals.due import count_due
from kg_api.graph.proposals.reads import count_proposals
from kg_api.model_settings.proposals import ProposalSettings
from kg_api.models.proposals.configuration import ProposalConfig, UsedProposals
from kg_api.proposals.used import mark_of, use
from kg_api.spaces.plans import read_embedding_state

log = structlog.get_logger()

BEFORE = (SOURCE_EMBEDDING, EXTRACTION, CONCEPT_EMBEDDING)
"""Work after which links are looked for: what it makes tells what is near, and what is connected."""


class ProposalRequests:
    """Makes the jobs that propose links."""

    def __init__(self, graph: Graph, settings: ProposalSettings) -> None:
        self._graph = graph
        self._settings = settings
        self._begun = time.monotonic()

    def used(self, stored: StoredProposals) -> tuple[UsedProposals, str]:
        """How links are proposed in an ontology, and the mark of that.

        Raises:
            NotFound: the ontology has gone.
        """
        space = read_embedding_state(self._graph, stored.ontology).answering.space
        used = use(stored.config, self._settings, space)
        return used, mark_of(used, space)

    def most_open(self, config: ProposalConfig) -> int:
        """How many open proposals are kept in an ontology of that configuration."""
        return self._settings.max_open if config.max_open is None else config.max_open

    def is_enabled(self, config: ProposalConfig) -> bool:
        """Whether links are proposed by themselves in an ontology of that configuration."""
        return self._settings.enabled if config.enabled is None else config.enabled

    def look_for_dropped(self, ontology: str) -> None:
        """Look again for proposals that were dropped, if more are kept now than are open.

        Raises:
            NotFound: there is no such ontology.
        """
        stored = read_proposals(self._graph, ontology)
        self._look_again(stored, at_most=self.most_open(stored.config) - 1)

    def look(self) -> None:
        """Make the jobs of ontologies of which something is due, when they are embedded and read."""
        for stored in read_all_proposals(self._graph):
            with contextlib.suppress(NotFound):  # it has just gone
                self._look(stored)

    def begin(self, ontology: str, *, anew: bool) -> tuple[int, str | None]:
        """Look for links now; how much is due, and the job.

        Args:
            ontology: where.
            anew: whether to look at everything again.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        stored = read_proposals(self._graph, ontology)
        if anew:
            flag_again(self._graph, ontology)
        due = count_due(self._graph, ontology)
        if not due and not anew and stored.proposed_for == self.used(stored)[1]:
            return 0, None

        def ask(tx: Transaction) -> str:
            return request_job(tx, LINK_PROPOSAL, ontology, added=due)

        return due, self._graph.transaction(ask)

    def _look(self, stored: StoredProposals) -> None:
        ontology = stored.ontology
        used, mark = self.used(stored)
        if not used.enabled or is_any_asked_for(self._graph, BEFORE, ontology):
            return
        due = count_due(self._graph, ontology)
        if stored.proposed_for == mark and not due:
            due = int(self._look_again(stored, at_most=used.max_open // 2))  # half of them are decided
        elif stored.proposed_for != mark:
            due = max(due, 1)
        if due and not rests(self._graph, LINK_PROPOSAL, ontology, at_most=time.monotonic() - self._begun):
            ensure_job(self._graph, LINK_PROPOSAL, ontology, total=due)

    def _look_again(self, stored: StoredProposals, *, at_most: int) -> bool:
        """Look again for what was dropped, if no more than so many are open; whether that is so."""
        if not stored.dropped:
            return False
        if count_proposals(self._graph, stored.ontology).get("open", 0) > at_most:
            return False
        flag_again(self._graph, stored.ontology)
        return True
