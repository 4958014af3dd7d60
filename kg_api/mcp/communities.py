"""Listing what a collection is about."""

from __future__ import annotations

from pydantic import Field

from kg_api.mcp.answers import Paged, Pager, ToolAnswer, list_page
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Answer, Body, NodeId, OntologyName
from kg_api.schemas.communities import Community
from kg_api.schemas.problems import valid

NAME = "list_communities"
DESCRIPTION = """\
List what a collection is about: communities of concepts that occur together, the largest first.

Use it before there is a question, to see what can be asked; then search for a community's labels."""
AT_ONCE = 100


class CommunitiesArguments(Paged):
    """Of which collection."""

    ontology: str
    parent: str | None = None
    """A community_id: only its parts."""


class CommunityEntry(Answer):
    """Concepts that are in the same passages more often than chance has it."""

    community_id: str
    name: str
    """The three concepts that are most its own."""
    concepts: int
    """How many."""
    labels: list[str]
    """Of the concepts that are most its own."""
    parts: int
    """Communities that it is divided into; `parent` lists them."""


class CommunitiesAnswer(ToolAnswer):
    """Communities, the largest first."""

    total: int
    """All there are, not only those in this answer."""
    communities: list[CommunityEntry]
    notes: list[str] = Field(default_factory=list[str])
    """Why there are none."""


class _Asked(Body):
    ontology: OntologyName
    parent: NodeId | None = None


def communities(library: Library, arguments: CommunitiesArguments) -> CommunitiesAnswer:
    """List communities."""
    asked = valid(_Asked, {"ontology": arguments.ontology, "parent": arguments.parent})
    walk = Pager(NAME, arguments)
    page = library.communities(asked.ontology, asked.parent, walk.page_start, AT_ONCE)
    frame = CommunitiesAnswer(total=page.total, communities=[], notes=page.notes)
    entries = [_entry(each) for each in page.communities]
    listing = list_page(page, entries, [each.community_id for each in entries], "communities")
    frame.communities, frame.more = walk.step(frame, listing)
    return frame


def _entry(found: Community) -> CommunityEntry:
    return CommunityEntry(
        community_id=found.community_id,
        name=found.name,
        concepts=found.size,
        labels=found.labels,
        parts=found.parts,
    )


TOOL = Tool(
    NAME, "See what a collection is about", DESCRIPTION, CommunitiesArguments, CommunitiesAnswer, communities
)
