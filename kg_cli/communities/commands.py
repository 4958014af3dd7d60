"""`kg communities`: the topics of an ontology, as communities of its concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_CENTRAL_PASSAGES, MAX_COMMUNITY_LEVEL, MAX_PAGE
from kg_api.wording import pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, message, short_id
from kg_cli.terminal.console import Shown

if TYPE_CHECKING:
    from kg_api.schemas.communities import Communities, Community, CommunityDetails

group = make_group("An overview of an ontology: communities of its concepts.")

SHOWN_LABELS = 8
SHOWN = 240  # characters of a passage


def _labels(each: Community) -> Shown:
    named = set(each.name.split(", "))
    others = [label for label in each.labels if label not in named][: SHOWN_LABELS - len(named)]
    return [(each.name, "bold"), (f"\n{', '.join(others)}" if others else "", "dim")]


_communities = Table(
    "communities",
    {
        "concepts": "size",
        "community": _labels,
        "parts": "parts",
        "id": short_id("community_id"),
    },
    noun=("community", "communities"),
    empty="No communities.",
)


def print_page(page: Communities) -> None:
    _communities(page)
    if page.computed_at:
        levels = ", ".join(f"{number} on level {at}" for at, number in enumerate(page.levels)) or "none"
        single = page.concepts - page.grouped - page.left_out
        changed = f", {page.changed:.0%} has changed since" if page.changed else ""
        console.say(
            f"Communities: {levels}. Concepts: {page.grouped} in communities, {page.left_out} in too small "
            f"groups, {single} from a single source. "
            f"Detected {page.computed_at:%Y-%m-%d %H:%M}{changed}"
        )


@command(group, "list", asks="communities", show=print_page)
def list_communities(
    *,
    ontology: options.Ontology,
    level: Annotated[int, typer.Option(min=0, max=MAX_COMMUNITY_LEVEL, help="0 is the coarsest.")] = 0,
    parent: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the parts of this community, on any level.")
    ] = None,
    offset: options.Offset = 0,
    limit: options.Page = 25,
) -> None:
    """List the communities of an ontology, named by their own concepts, the largest first.

    Example: kg communities list --ontology notes
    """


def print_community(found: CommunityDetails) -> None:
    console.line(found.name, "bold")
    parts = f", {pluralize(found.parts, 'part')}" if found.parts else ""
    console.line(f"{found.community_id}  level {found.level}  {pluralize(found.size, 'concept')}{parts}")
    Table(
        "concepts",
        {"weight": "weight", "concept": "label", "sources": "sources", "id": "concept_id"},
    )(found)
    for each in found.passages:
        where = f"{each.source.document}#{each.source.paragraph}"
        about = f"{pluralize(each.concepts, 'concept')}, weight {each.weight:.2f}"
        console.line(f"\n{where}  {about}", "bold")
        text = " ".join(each.source.full_text.split())
        console.line(f"{text[:SHOWN]}…" if len(text) > SHOWN else text)
    console.line("")
    Table("documents", {"weight": "weight", "document": "document", "concepts": "concepts"})(found)
    if found.parts:
        parts = f"kg communities list --ontology {found.ontology!r} --parent {found.community_id[:8]}"
        console.say(f"see its parts: {parts}")


@command(group, asks="community", show=print_community)
def show(
    community_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a community as `list` shows it, or its first digits.")
    ],
    *,
    ontology: options.Ontology,
    concepts: Annotated[int, typer.Option(min=1, max=MAX_PAGE, help="Maximum number of concepts.")] = 20,
    passages: Annotated[
        int,
        typer.Option(min=1, max=MAX_CENTRAL_PASSAGES, help="Maximum number of passages, and of documents."),
    ] = 5,
) -> None:
    """Show a community with its concepts and its most typical passages and documents.

    Example: kg communities show 4f1c0e12 --ontology notes
    """


@command(
    group,
    asks="detect_communities",
    show=message("a worker detects communities: job {0.job_id}. See them with: kg communities list"),
)
def detect(*, ontology: options.Ontology) -> None:
    """Detect communities now. A worker detects them automatically after enough changes.

    Example: kg communities detect --ontology notes
    """
