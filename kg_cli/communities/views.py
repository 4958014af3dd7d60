"""Communities as a person reads them."""

from __future__ import annotations

from rich.markup import escape
from rich.text import Text

from kg_api.schemas.communities import (
    Communities,
    Community,
    CommunityDetails,
    CommunityPassage,
    CommunityRequest,
)
from kg_api.wording import pluralize
from kg_cli.terminal.console import line, note, print_table, say, say_rest

SHOWN_DIGITS = 8
SHOWN_LABELS = 8
SHOWN = 240
"""Characters of a passage."""


def print_communities(page: Communities) -> None:
    """Print a page of communities, what they are of, and how to see more."""
    note(*page.notes)
    if not page.communities:
        say("No communities are here.")
    else:
        print_table(["concepts", "community", "parts", "id"], map(_row, page.communities))
        say_rest(page, len(page.communities), "community", "communities")
    if page.computed_at:
        say(_coverage(page))


def print_community(found: CommunityDetails) -> None:
    """Print a community with its concepts and where most is said of it."""
    line(found.name, "bold")
    parts = f", {pluralize(found.parts, 'part')}" if found.parts else ""
    line(f"{found.community_id}  level {found.level}  {pluralize(found.size, 'concept')}{parts}")
    print_table(
        ["weight", "concept", "sources", "id"],
        [[f"{each.weight:.2f}", each.label, str(each.sources), each.concept_id] for each in found.concepts],
    )
    for each in found.passages:
        line("")
        line(_place(each), "bold")
        line(_cut(each.source.full_text))
    line("")
    print_table(
        ["weight", "document", "concepts"],
        [[f"{each.weight:.2f}", each.document, str(each.concepts)] for each in found.documents],
    )
    if found.parts:
        parent = found.community_id[:SHOWN_DIGITS]
        say(escape(f"kg communities list --ontology {found.ontology!r} --parent {parent} shows its parts"))


def print_request(answer: CommunityRequest) -> None:
    """Say what a worker does now."""
    say(f"a worker detects communities: job {answer.job_id}; kg communities list shows them")


def _row(community: Community) -> tuple[str, Text, str, str]:
    named = set(community.name.split(", "))
    others = [each for each in community.labels if each not in named][: SHOWN_LABELS - len(named)]
    told = Text.assemble((community.name, "bold"), (f"\n{', '.join(others)}" if others else "", "dim"))
    return str(community.size), told, str(community.parts or ""), community.community_id[:SHOWN_DIGITS]


def _coverage(page: Communities) -> str:
    """What of the ontology they are of, and how far they are behind."""
    levels = ", ".join(f"{number} on level {level}" for level, number in enumerate(page.levels)) or "none"
    single = page.concepts - page.grouped - page.left_out
    told = (
        f"{levels}; of {pluralize(page.concepts, 'concept')} {page.grouped} are in one, {page.left_out} in a "
        f"group that is too small, {single} of a single source; detected {page.computed_at:%Y-%m-%d %H:%M}"
    )
    changed = f", {page.changed:.0%} has changed since" if page.changed else ""
    return escape(told + changed)


def _place(passage: CommunityPassage) -> str:
    where = f"{passage.source.document}#{passage.source.paragraph}"
    return f"{where}  {pluralize(passage.concepts, 'concept')}, weight {passage.weight:.2f}"


def _cut(text: str) -> str:
    joined = " ".join(text.split())
    return f"{joined[:SHOWN]}…" if len(joined) > SHOWN else joined
