"""`kg communities`: what an ontology is about, by the concepts that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_CENTRAL_PASSAGES, MAX_COMMUNITY_LEVEL, MAX_PAGE
from kg_api.wording import pluralize
from kg_cli.terminal.connect import JsonOption, OffsetOption, OntologyOption, PageOption, report
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from rich.text import Text

    from kg_api.schemas.communities import Communities, CommunityDetails, CommunityRequest
    from kg_cli.terminal import console
else:
    console = LateModule("kg_cli.terminal.console")

group = typer.Typer(help="An overview of an ontology: communities of its concepts.", no_args_is_help=True)

CommunityArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a community as `list` gives it, or its first digits.")
]


@group.command("list")
def show_page(
    *,
    ontology: OntologyOption,
    level: Annotated[int, typer.Option(min=0, max=MAX_COMMUNITY_LEVEL, help="0 is the coarsest.")] = 0,
    parent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only the parts of this community, whatever --level says."),
    ] = None,
    offset: OffsetOption = 0,
    limit: PageOption = 25,
    as_json: JsonOption = False,
) -> None:
    """List what an ontology is about: communities with names of their own concepts, the largest first.

    Example: kg communities list --ontology notes
    """
    report(
        lambda kg: kg.communities(ontology, level=level, parent=parent, offset=offset, limit=limit),
        _print_page,
        as_json=as_json,
    )


@group.command()
def show(
    community_id: CommunityArgument,
    *,
    ontology: OntologyOption,
    concepts: Annotated[int, typer.Option(min=1, max=MAX_PAGE, help="Maximum number of concepts.")] = 20,
    passages: Annotated[
        int,
        typer.Option(min=1, max=MAX_CENTRAL_PASSAGES, help="Maximum number of passages, and of documents."),
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show a community: its concepts, and the passages and documents that say most of it.

    Example: kg communities show 4f1c0e12 --ontology notes
    """
    report(
        lambda kg: kg.community(ontology, community_id, concepts=concepts, passages=passages),
        print_community,
        as_json=as_json,
    )


@group.command()
def detect(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """Detect communities now; else a worker does it by itself when enough has changed.

    Example: kg communities detect --ontology notes
    """

    def describe(answer: CommunityRequest) -> None:
        console.say(f"a worker detects communities: job {answer.job_id}; kg communities list shows them")

    report(lambda kg: kg.detect_communities(ontology), describe, as_json=as_json)


SHOWN_DIGITS = 8
SHOWN_LABELS = 8
SHOWN = 240
"""Characters of a passage."""


def _print_page(page: Communities) -> None:
    from rich.markup import escape
    from rich.text import Text

    console.note(*page.notes)
    if not page.communities:
        console.say("No communities are here.")
    else:
        rows: list[tuple[str, Text, str, str]] = []
        for each in page.communities:
            named = set(each.name.split(", "))
            others = [label for label in each.labels if label not in named][: SHOWN_LABELS - len(named)]
            told = Text.assemble((each.name, "bold"), (f"\n{', '.join(others)}" if others else "", "dim"))
            rows.append((str(each.size), told, str(each.parts or ""), each.community_id[:SHOWN_DIGITS]))
        console.print_table(["concepts", "community", "parts", "id"], rows)
        console.say_rest(page, len(page.communities), "community", "communities")
    if page.computed_at:
        # what of the ontology they are of, and how far they are behind
        levels = ", ".join(f"{number} on level {at}" for at, number in enumerate(page.levels)) or "none"
        single = page.concepts - page.grouped - page.left_out
        changed = f", {page.changed:.0%} has changed since" if page.changed else ""
        coverage = (
            f"{levels}; of {pluralize(page.concepts, 'concept')} {page.grouped} are in one, {page.left_out} "
            f"in a group that is too small, {single} of a single source; "
            f"detected {page.computed_at:%Y-%m-%d %H:%M}{changed}"
        )
        console.say(escape(coverage))


def print_community(found: CommunityDetails) -> None:
    from rich.markup import escape

    console.line(found.name, "bold")
    parts = f", {pluralize(found.parts, 'part')}" if found.parts else ""
    console.line(f"{found.community_id}  level {found.level}  {pluralize(found.size, 'concept')}{parts}")
    console.print_table(
        ["weight", "concept", "sources", "id"],
        [[f"{each.weight:.2f}", each.label, str(each.sources), each.concept_id] for each in found.concepts],
    )
    for each in found.passages:
        console.line("")
        where = f"{each.source.document}#{each.source.paragraph}"
        said = f"{pluralize(each.concepts, 'concept')}, weight {each.weight:.2f}"
        console.line(f"{where}  {said}", "bold")
        text = " ".join(each.source.full_text.split())
        console.line(f"{text[:SHOWN]}…" if len(text) > SHOWN else text)
    console.line("")
    console.print_table(
        ["weight", "document", "concepts"],
        [[f"{each.weight:.2f}", each.document, str(each.concepts)] for each in found.documents],
    )
    if found.parts:
        parent = found.community_id[:SHOWN_DIGITS]
        console.say(
            escape(f"kg communities list --ontology {found.ontology!r} --parent {parent} shows its parts")
        )
