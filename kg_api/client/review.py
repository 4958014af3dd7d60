"""Client methods for decisions by people: document approval, proposed links and relevance judgements."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.call import Call, build_body, build_params, delete, get, post, put
from kg_api.client.sending import request
from kg_api.schemas.concepts import Decision
from kg_api.schemas.documents import Approval, Approved, Rejected, Review, WaitingDocuments
from kg_api.schemas.evaluation import (
    JudgedQuestions,
    Judgement,
    JudgementRequest,
    Judgements,
    JudgementsDeleted,
)
from kg_api.schemas.operations import JobStarted
from kg_api.schemas.proposals import Proposal, Proposals
from kg_api.schemas.vocabulary import ProposalKind, ProposalState


class ReviewMethods:
    @request
    def waiting(
        self, ontology: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> Call[WaitingDocuments]:
        """List documents that were sent with `review` and are pending approval, one page at a time."""
        return get(WaitingDocuments, "waiting", ontology=ontology, offset=offset, limit=limit)

    @request
    def approve(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
        after: str | None = None,
    ) -> Call[Approved]:
        """Store pending documents by name, or a batch of all. Pass the returned `next` as `after`."""
        return post(Approved, "waiting", "approve", json=build_body(Approval, locals()))

    @request
    def reject(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
    ) -> Call[Rejected]:
        """Discard pending documents by name, or up to 1,000 per request with `all`."""
        return post(Rejected, "waiting", "reject", json=build_body(Review, locals()))


def _decide(proposal_id: str, what: str, by: str | None) -> Call[Proposal]:
    return post(Proposal, "proposals", proposal_id, what, json=build_body(Decision, {"by": by}))


class ProposalMethods:
    @request
    def proposals(
        self,
        ontology: str | None = None,
        *,
        kind: ProposalKind | None = None,
        state: ProposalState | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Call[Proposals]:
        """List proposed links, the best first, with the reason and the texts of both ends."""
        chosen = {"ontology": ontology, "kind": kind, "state": state, "offset": offset, "limit": limit}
        return get(Proposals, "proposals", **chosen)

    @request
    def proposal(self, proposal_id: str) -> Call[Proposal]:
        """Return a proposed link."""
        return get(Proposal, "proposals", proposal_id)

    @request
    def accept_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Accept a link. Related concepts, paths and the source graph then show the link."""
        return _decide(proposal_id, "accept", by)

    @request
    def reject_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Reject a link permanently."""
        return _decide(proposal_id, "reject", by)

    @request
    def undo_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Reopen an accepted or rejected proposal and delete its link."""
        return _decide(proposal_id, "undo", by)

    @request
    def search_proposals(self, ontology: str, *, anew: bool = False) -> Call[JobStarted]:
        """Search for links now, without waiting for changes. With `anew`, search everything again."""
        return post(JobStarted, "ontologies", ontology, "proposals", params=build_params(anew=anew or None))


class JudgementMethods:
    @request
    def judge(
        self, ontology: str, *, question: str, source_id: str, relevance: int, by: str | None = None
    ) -> Call[Judgement]:
        """Store the relevance of a passage to a question: 2 answers it, 1 helps, 0 is irrelevant."""
        body = build_body(JudgementRequest, locals())
        return put(Judgement, "ontologies", ontology, "judgements", json=body, dry_run=False)

    @request
    def judgements(
        self, ontology: str, question: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> Call[Judgements]:
        """List judgements by question, or those for one question, with the current passages."""
        chosen = {"question": question, "offset": offset, "limit": limit}
        return get(Judgements, "ontologies", ontology, "judgements", **chosen)

    @request
    def judged_questions(self, ontology: str, *, offset: int = 0, limit: int = 100) -> Call[JudgedQuestions]:
        path = ("ontologies", ontology, "judgements", "questions")
        return get(JudgedQuestions, *path, offset=offset, limit=limit)

    @request
    def delete_judgements(
        self, ontology: str, question: str, source_id: str | None = None
    ) -> Call[JudgementsDeleted]:
        """Delete the judgements for a question, of one passage (given by its full id) or of all."""
        chosen = {"question": question, "source_id": source_id}
        return delete(JudgementsDeleted, "ontologies", ontology, "judgements", **chosen)
