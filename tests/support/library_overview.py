from __future__ import annotations

from datetime import UTC, datetime

from kg_api.container import Container
from kg_api.mcp.library import Library
from kg_api.schemas.communities import Communities, Community
from kg_api.schemas.proposals import Proposal, ProposalEnd, Proposals
from kg_api.schemas.search import Place
from kg_api.schemas.vocabulary import ProposalKind, ProposalState


def _fail() -> Container:
    raise AssertionError("a library in memory has no container")


class MemoryOverview(Library):
    """Communities of one collection, and links."""

    def __init__(self) -> None:
        super().__init__(_fail)
        self.all_communities: list[Community] = []
        self.all_proposals: list[Proposal] = []

    def add_community(self, name: str, *, parent_id: str | None = None, parts: int = 0) -> Community:
        labels = name.split(", ")
        known = {"community_id": f"{len(self.all_communities):032x}", "parent_id": parent_id, "inside": 0.5}
        told = {
            "name": name,
            "labels": labels,
            "size": len(labels),
            "parts": parts,
            "level": parent_id is not None,
        }
        self.all_communities.append(Community.model_validate({**known, **told}))
        return self.all_communities[-1]

    def add_proposal(self, one: Place, other: Place, *, state: ProposalState = "open") -> Proposal:
        """Propose to link two passages by their first five characters."""
        ends = [
            ProposalEnd(
                quote=each.full_text[:5], quote_start=each.start, quote_end=each.start + 5, source=each
            )
            for each in (one, other)
        ]
        self.all_proposals.append(
            Proposal(
                proposal_id=f"{len(self.all_proposals):032x}",
                ontology=one.ontology,
                kind="source",
                state=state,
                score=0.54321,
                similarity=0.9,
                reason="both say it",
                ends=ends,
                created_at=datetime(2026, 11, 22, tzinfo=UTC),
            )
        )
        return self.all_proposals[-1]

    def communities(self, ontology: str, parent: str | None, offset: int, limit: int) -> Communities:
        found = [each for each in self.all_communities if each.parent_id == parent]
        return Communities(
            ontology=ontology,
            communities=found[offset : offset + limit],
            level=0,
            total=len(found),
            offset=offset,
            limit=limit,
            notes=[] if found else ["none were detected yet"],
        )

    def proposals(
        self,
        ontology: str | None,
        kind: ProposalKind | None,
        state: ProposalState | None,
        offset: int,
        limit: int,
    ) -> Proposals:
        """See `Library`."""
        asked = {"ontology": ontology, "kind": kind, "state": state}
        wanted = {name: value for name, value in asked.items() if value is not None}
        found = [
            each
            for each in self.all_proposals
            if wanted.items() <= each.model_dump(include=set(wanted)).items()
        ]
        page = found[offset : offset + limit]
        return Proposals(proposals=page, total=len(found), offset=offset, limit=limit)
