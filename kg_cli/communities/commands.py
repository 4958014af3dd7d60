"""`kg communities`: what an ontology is about, by the concepts that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_CENTRAL_PASSAGES, MAX_COMMUNITY_LEVEL, MAX_PAGE
from kg_cli.terminal.connect import JsonOption, OffsetOption, OntologyOption, PageOption, report
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.communities import views
else:
    views = LateModule("kg_cli.communities.views")

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
        views.print_communities,
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
        views.print_community,
        as_json=as_json,
    )


@group.command()
def detect(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """Detect communities now; else a worker does it by itself when enough has changed.

    Example: kg communities detect --ontology notes
    """
    report(lambda kg: kg.detect_communities(ontology), views.print_request, as_json=as_json)
