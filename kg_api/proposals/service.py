"""Links that are proposed: listed, accepted, rejected, and how they are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.naming.ontologies import require_ontologies, unknown_ontology
from kg_api.graph.naming.reach import reaches
from kg_api.graph.proposals.configuration import (
    StoredProposals,
    hold_proposals,
    read_all_proposals,
    read_proposals,
    write_configuration,
)
from kg_api.graph.proposals.due import count_due
from kg_api.graph.proposals.reads import count_proposals, decide, find_proposal, page_of_proposals
from kg_api.graph.proposals.writes import drop_weakest
from kg_api.models.proposals.configuration import ProposalConfig, ProposalSearch, ProposalStatus
from kg_api.models.proposals.proposals import Proposal, Proposals
from kg_api.models.vocabulary import ProposalKind, ProposalState
from kg_api.proposals.requests import ProposalRequests
from kg_api.wording.plural import are, pluralize, was

MAX_TOLD = 5
"""Ontologies of which an empty list says how far they have been looked at."""
AGAIN = "all sources and concepts are looked at again"
ANOTHER_WAY = f"{AGAIN}: links are proposed in another way now"


class ProposalService:
    """Proposed links of each ontology."""

    def __init__(self, graph: Graph, requests: ProposalRequests) -> None:
        self._graph = graph
        self._requests = requests
        self.look = requests.look
        """Make the jobs of ontologies of which something is due."""

    def page(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        """Some proposals, the best first."""
        found, total = page_of_proposals(
            self._graph, ontology=ontology, kind=kind, state=state, offset=offset, limit=limit
        )
        if not total:
            require_ontologies(self._graph, ontology)
        stored, notes = self._stored(ontology), list[str]()
        dropped = sum(each.dropped for each in stored)
        if state in {None, "open"}:
            notes += [_left_out(dropped)] if dropped else []
            notes += [] if total else self._looked(stored)
        return Proposals(
            proposals=found,
            total=total,
            offset=offset,
            limit=limit,
            dropped=dropped,
            searched_at=stored[0].searched_at if ontology is not None and stored else None,
            notes=notes,
        )

    def find(self, proposal_id: str) -> Proposal:
        """One proposal.

        Raises:
            NotFound: there is none by that id.
        """
        return find_proposal(self._graph, proposal_id)

    def decide(self, proposal_id: str, state: ProposalState, by: str | None) -> Proposal:
        """Accept or reject a proposal, or open it again; doing it twice changes nothing more.

        Raises:
            NotFound: there is none by that id.
        """
        return decide(self._graph, proposal_id, state, by)

    def status(self, ontology: str) -> ProposalStatus:
        """How links are proposed in an ontology, and how far that is.

        Raises:
            NotFound: there is no such ontology.
        """
        return self._status(read_proposals(self._graph, ontology), [])

    def configure(self, ontology: str, config: ProposalConfig, *, dry_run: bool) -> ProposalStatus:
        """Change what is given of an ontology's configuration; null is the service's own setting.

        Open proposals behind the best that are kept now go at once. Where more are kept, those that were
        dropped are looked for again.

        Raises:
            NotFound: there is no such ontology.
        """
        if dry_run:
            told = _changed(read_proposals(self._graph, ontology), config)
            return self._status(told, ["nothing was changed: this is a dry run"], applied=False)
        if not self._graph.transaction(lambda tx: self._change(tx, ontology, config)):
            raise unknown_ontology(self._graph, ontology)
        self._requests.look_for_dropped(ontology)
        return self._status(read_proposals(self._graph, ontology), [])

    def _change(self, tx: Transaction, ontology: str, config: ProposalConfig) -> bool:
        """False: there is no such ontology."""
        if (before := hold_proposals(tx, ontology)) is None:
            return False
        after = _changed(before, config).config
        write_configuration(tx, ontology, after)
        drop_weakest(tx, ontology, self._requests.most_open(after))
        return True

    def search(self, ontology: str, *, anew: bool) -> ProposalSearch:
        """Look for links now.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        due, job_id = self._requests.begin(ontology, anew=anew)
        notes = ["everything is looked at again"] if anew else []
        notes = notes if job_id else ["nothing has changed since links were looked for"]
        return ProposalSearch(ontology=ontology, due=due, job_id=job_id, notes=notes)

    def _status(self, stored: StoredProposals, notes: list[str], *, applied: bool = True) -> ProposalStatus:
        used, mark = self._requests.used(stored)
        counts = count_proposals(self._graph, stored.ontology)
        if again := _why_again(stored, mark):
            notes = [*notes, again]
        if not used.enabled:
            notes = [*notes, "links are not proposed by themselves here: `enabled` is false"]
        return ProposalStatus(
            ontology=stored.ontology,
            config=stored.config,
            used=used,
            open=counts.get("open", 0),
            accepted=counts.get("accepted", 0),
            rejected=counts.get("rejected", 0),
            due=count_due(self._graph, stored.ontology),
            dropped=stored.dropped,
            searched_at=stored.searched_at,
            applied=applied,
            notes=notes,
        )

    def _stored(self, ontology: str | None) -> list[StoredProposals]:
        if ontology is not None:
            return [read_proposals(self._graph, ontology)]
        return [each for each in read_all_proposals(self._graph) if reaches(each.ontology)]

    def _looked(self, stored: Sequence[StoredProposals]) -> list[str]:
        """How far ontologies have been looked at, where nothing is proposed."""
        more = len(stored) - MAX_TOLD
        told = [f"and {pluralize(more, 'more ontology', 'more ontologies')}"] if more > 0 else []
        return [note for each in stored[:MAX_TOLD] if (note := self._looked_at(each))] + told

    def _looked_at(self, stored: StoredProposals) -> str:
        """Empty: the ontology has just gone."""
        name, off = stored.ontology, ""
        if not self._requests.is_enabled(stored.config):
            off = " (`enabled` is false: no worker does it by itself)"
        if stored.proposed_for is None and stored.searched_at is None:
            return (
                f"links have not been looked for in {name} yet{off}: `kg proposals search --ontology {name}`"
            )
        at = f"on {stored.searched_at:%Y-%m-%d %H:%M} UTC" if stored.searched_at else "in part"
        try:
            again = _why_again(stored, self._requests.used(stored)[1])
        except NotFound:
            return ""
        more = f"{again}{off}" if again else self._left(name)
        return f"links were looked for in {name} {at}" + (f"; {more}" if more else "")

    def _left(self, ontology: str) -> str:
        due = count_due(self._graph, ontology)
        left = pluralize(due, "source or concept", "sources and concepts")
        return f"{left} {are(due)} still to be looked at" if due else ""


def _why_again(stored: StoredProposals, mark: str) -> str:
    """That everything is looked at again; empty where nobody asked for it and the mark is as it was."""
    if stored.proposed_for is None:
        return AGAIN if stored.searched_at else ""
    return "" if stored.proposed_for == mark else ANOTHER_WAY


def _changed(before: StoredProposals, given: ProposalConfig) -> StoredProposals:
    return replace(before, config=before.config.model_copy(update=given.model_dump(exclude_unset=True)))


def _left_out(dropped: int) -> str:
    return (
        f"{pluralize(dropped, 'weaker proposal')} {was(dropped)} left out: as many better ones are open as "
        "are kept (max_open). When half of those are decided, links are looked for again"
    )
