"""`kg communities`: the topics of an ontology, as communities of its concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, short_id
from kg_cli.terminal.console import Shown

if TYPE_CHECKING:
    from kg_api.schemas.communities import Communities, Community

group = make_group("An overview of an ontology: communities of its concepts.")

SHOWN_LABELS = 8


def _labels(each: Community) -> Shown:
    named = set(each.name.split(", "))
    others = [label for label in each.labels if label not in named][: SHOWN_LABELS - len(named)]
    return [(each.name, "bold"), (f"\n{', '.join(others)}" if others else "", "dim")]


_communities = Table(
    "communities",
    {
        "concepts": "size",
        "community": _labels,
        "id": short_id("community_id"),
    },
    noun=("community", "communities"),
    empty="No communities.",
)


def print_page(page: Communities) -> None:
    _communities(page)
    if page.computed_at:
        single = page.concepts - page.grouped - page.left_out
        changed = f", {page.changed:.0%} has changed since" if page.changed else ""
        console.say(
            f"Concepts: {page.grouped} in communities, {page.left_out} in too small "
            f"groups, {single} from a single source. "
            f"Detected {page.computed_at:%Y-%m-%d %H:%M}{changed}"
        )


@command(group, "list", asks="communities", show=print_page)
def list_communities(
    *,
    ontology: options.Ontology,
    offset: options.Offset = 0,
    limit: options.Page = 25,
) -> None:
    """List the communities of an ontology, named by their own concepts, the largest first.

    Example: kg communities list --ontology notes
    """
