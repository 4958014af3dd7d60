"""The job that proposes links of an ontology: flag all where that is due, then look at what is flagged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

import structlog

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs.records import LINK_PROPOSAL
from kg_api.graph.proposals.configuration import note_flagged, note_searched, read_proposals
from kg_api.graph.proposals.due import DueNode, FlaggedTo, count_due, flag_portion, note_seen, read_due
from kg_api.graph.proposals.writes import NewProposal, write_proposals
from kg_api.graph.spaces.due import BEGINNING
from kg_api.graph.spaces.registry import Space
from kg_api.jobs.run import JobRun
from kg_api.model_settings.proposals import ProposalSettings
from kg_api.models.proposals.configuration import UsedProposals
from kg_api.models.vocabulary import ProposalKind
from kg_api.proposals.concepts import ConceptLinks
from kg_api.proposals.sources import SourceLinks
from kg_api.proposals.used import mark_of, use
from kg_api.spaces.plans import read_embedding_state

log = structlog.get_logger()

KINDS: Final[tuple[ProposalKind, ...]] = ("source", "concept")
Where = tuple[str, Space, UsedProposals]
"""An ontology, the space that answers for it, and how links are proposed there."""
BATCH = 32
"""Sources or concepts that are looked at in one round trip, and written in one transaction."""


class LinkSearch(Protocol):
    """What looks for links of one kind of nodes."""

    def propose(self, due: Sequence[DueNode]) -> list[NewProposal]:
        """What may be linked to some of them."""
        ...


class LinkProposal:
    """Handles jobs of kind `link_proposal`: so much a job, and the next check goes on."""

    kind = LINK_PROPOSAL

    def __init__(self, graph: Graph, settings: ProposalSettings) -> None:
        self._graph = graph
        self._settings = settings

    def run(self, run: JobRun) -> None:
        """Look at what is due of the job's ontology."""
        while True:
            if (ontology := run.job.ontology) is not None:
                self._round(run, ontology)
            if run.finish():
                return

    def _round(self, run: JobRun, ontology: str) -> None:
        try:
            stored = read_proposals(self._graph, ontology)
            space = read_embedding_state(self._graph, ontology).answering.space
        except NotFound:
            return
        used = use(stored.config, self._settings, space)
        if stored.proposed_for != (mark := mark_of(used, space)):
            self._flag(run, ontology, space, mark)
        run.expect(min(count_due(self._graph, ontology), self._settings.nodes_a_run))
        left = self._settings.nodes_a_run
        for kind in KINDS:
            left -= self._look(run, kind, (ontology, space, used), left)
        if left > 0:
            run.commit(partial(note_searched, ontology=ontology), after=run.cursor, done=0)

    def _flag(self, run: JobRun, ontology: str, space: Space, mark: str) -> None:
        """Have all of the ontology looked at; what is flagged stays so when this is broken off."""
        for kind in KINDS:
            flagged: FlaggedTo | None = BEGINNING
            while flagged:
                flag = partial(flag_portion, kind=kind, ontology=ontology, space=space, after=flagged)
                flagged = run.commit(flag, after=run.cursor, done=0)
                run.checkpoint()
        run.commit(partial(note_flagged, ontology=ontology, mark=mark), after=run.cursor, done=0)

    def _look(
        self,
        run: JobRun,
        kind: ProposalKind,
        where: Where,
        most: int,
    ) -> int:
        """Look at so many of a kind at most; how many."""
        ontology, space, used = where
        search = _search(self._graph, kind, where)
        looked = 0
        while looked < most and (
            due := read_due(self._graph, kind, ontology, space, min(BATCH, most - looked))
        ):
            run.checkpoint()
            proposed = search.propose(due)

            def write(
                tx: Transaction, due: Sequence[DueNode] = due, new: Sequence[NewProposal] = proposed
            ) -> None:
                write_proposals(tx, kind, ontology, due, new, most=used.max_open)
                note_seen(tx, kind, space, due)

            run.commit(write, after=due[-1].id, done=len(due))
            looked += len(due)
        return looked


def _search(graph: Graph, kind: ProposalKind, where: Where) -> LinkSearch:
    return SourceLinks(graph, *where) if kind == "source" else ConceptLinks(graph, *where)
