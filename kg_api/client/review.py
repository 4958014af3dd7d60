"""Client methods to approve documents, decide on proposed links, and judge passages."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.call import Call, build_body, build_params, delete, get, post, put
from kg_api.client.sending import request
from kg_api.schemas.concepts import Decision
from kg_api.schemas.documents import Approval, Approved, Rejected, Review, WaitingDocuments
from kg_api.schemas.evaluation import (
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
        """List documents that wait for approval, one page at a time."""
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
        """Store pending documents by name, or use `all` to store a batch.

        Then pass `next` from the response as `after`.
        """
        return post(Approved, "waiting", "approve", json=build_body(Approval, locals()))

    @request
    def reject(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
    ) -> Call[Rejected]:
        """Reject pending documents by name, or use `all` to reject up to 1,000."""
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
        """List proposed links, the best first. You can see the reason and both texts."""
        chosen = {"ontology": ontology, "kind": kind, "state": state, "offset": offset, "limit": limit}
        return get(Proposals, "proposals", **chosen)

    @request
    def proposal(self, proposal_id: str) -> Call[Proposal]:
        """Get a proposed link."""
        return get(Proposal, "proposals", proposal_id)

    @request
    def accept_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Accept a link. You can then see it in related concepts, paths, and the source graph."""
        return _decide(proposal_id, "accept", by)

    @request
    def reject_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Reject a link. It will not be proposed again."""
        return _decide(proposal_id, "reject", by)

    @request
    def undo_proposal(self, proposal_id: str, *, by: str | None = None) -> Call[Proposal]:
        """Undo a decision on a proposal. This deletes the link, if you accepted it before."""
        return _decide(proposal_id, "undo", by)

    @request
    def search_proposals(self, ontology: str, *, anew: bool = False) -> Call[JobStarted]:
        """Search for links now. To search everything again, use `anew`."""
        return post(JobStarted, "ontologies", ontology, "proposals", params=build_params(anew=anew or None))


class JudgementMethods:
    @request
    def judge(
        self, ontology: str, *, question: str, source_id: str, relevance: int, by: str | None = None
    ) -> Call[Judgement]:
        """Judge a passage for a question: 2 if it answers this, 1 if it helps, 0 if it is irrelevant."""
        body = build_body(JudgementRequest, locals())
        return put(Judgement, "ontologies", ontology, "judgements", json=body, dry_run=False)

    @request
    def judgements(
        self, ontology: str, question: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> Call[Judgements]:
        """List judgements by question. You can see the passages as they are now."""
        chosen = {"question": question, "offset": offset, "limit": limit}
        return get(Judgements, "ontologies", ontology, "judgements", **chosen)

    @request
    def delete_judgements(
        self, ontology: str, question: str, source_id: str | None = None
    ) -> Call[JudgementsDeleted]:
        """Delete the judgements for a question.

        To delete the judgement on one passage, use the full `source_id`.
        """
        chosen = {"question": question, "source_id": source_id}
        return delete(JudgementsDeleted, "ontologies", ontology, "judgements", **chosen)
