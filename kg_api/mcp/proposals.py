"""Listing links that are proposed; a person decides on them elsewhere."""

from __future__ import annotations

from pydantic import Field

from kg_api.mcp.answers import Paged, Pager, Passage, ToolAnswer, cite, list_page
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Answer, Body, OntologyName
from kg_api.schemas.problems import valid
from kg_api.schemas.proposals import Proposal, ProposalEnd
from kg_api.schemas.vocabulary import ProposalKind, ProposalState

NAME = "list_proposed_links"
DESCRIPTION = """\
List links that kg proposes between passages, or concepts, of different documents: near in meaning, not \
connected yet. The best first, each with its reason and both texts.

Use it to find what belongs together and nobody has said so. People accept or reject them, elsewhere."""
AT_ONCE = 50


class ProposalsArguments(Paged):
    """Which links."""

    ontology: str | None = None
    """Only of this collection; unset: of all."""
    kind: ProposalKind | None = None
    state: ProposalState = "open"


class ProposedEnd(Passage):
    """One of the two."""

    document: str
    label: str | None = None
    """Of a concept."""


class ProposedLink(Answer):
    """A link that is proposed, or was decided on."""

    proposal_id: str
    ontology: str
    kind: ProposalKind
    score: float
    """0 to 1."""
    reason: str
    ends: list[ProposedEnd]


class ProposalsAnswer(ToolAnswer):
    """Links, the best first."""

    total: int
    """All there are, not only those in this answer."""
    links: list[ProposedLink]
    notes: list[str] = Field(default_factory=list[str])
    """Why there are none."""


class _Asked(Body):
    ontology: OntologyName | None = None


def proposals(library: Library, arguments: ProposalsArguments) -> ProposalsAnswer:
    """List proposed links."""
    asked = valid(_Asked, {"ontology": arguments.ontology})
    walk = Pager(NAME, arguments)
    page = library.proposals(asked.ontology, arguments.kind, arguments.state, walk.page_start, AT_ONCE)
    frame = ProposalsAnswer(total=page.total, links=[], notes=page.notes)
    entries = [_link(each) for each in page.proposals]
    listing = list_page(page, entries, [each.proposal_id for each in entries], "links")
    frame.links, frame.more = walk.step(frame, listing)
    return frame


def _link(found: Proposal) -> ProposedLink:
    return ProposedLink(
        proposal_id=found.proposal_id,
        ontology=found.ontology,
        kind=found.kind,
        score=round(found.score, 4),
        reason=found.reason,
        ends=[_end(each) for each in found.ends],
    )


def _end(found: ProposalEnd) -> ProposedEnd:
    return ProposedEnd(
        citation=cite(found.source.source_id, found.quote_start, found.quote_end),
        text=found.quote,
        document=found.source.document,
        label=found.label,
    )


TOOL = Tool(NAME, "List proposed links", DESCRIPTION, ProposalsArguments, ProposalsAnswer, proposals)
