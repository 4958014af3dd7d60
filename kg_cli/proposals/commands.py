"""`kg proposals`: links between passages, and between concepts, of different documents."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_OPEN_PROPOSALS, ProposalKind, ProposalState
from kg_cli.admin.options import DryRunOption, configure
from kg_cli.terminal.connect import (
    JsonOption,
    OffsetOption,
    OnlyOntologyOption,
    OntologyOption,
    PageOption,
    emit,
    given,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.proposals import views
else:
    views = LateModule("kg_cli.proposals.views")

group = typer.Typer(
    help="Links that are proposed between passages or concepts: list, accept, reject.", no_args_is_help=True
)

ProposalArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a proposal, as `list` gives it, or its first 8 digits.")
]
ByOption = Annotated[
    str | None, typer.Option("--by", help="Who does it, for the record; unset: the user of this machine.")
]
CosineOption = Annotated[float | None, typer.Option(min=-1, max=1, help="Minimum cosine of two passages.")]
ConceptCosineOption = Annotated[
    float | None, typer.Option(min=-1, max=1, help="Minimum cosine of two concepts.")
]


@group.command("list")
def show_page(
    *,
    ontology: OnlyOntologyOption = None,
    kind: Annotated[ProposalKind | None, typer.Option(help="Only links of these.")] = None,
    state: Annotated[
        ProposalState | None, typer.Option(help="Only these; without it those that are open.")
    ] = "open",
    offset: OffsetOption = 0,
    limit: PageOption = 10,
    as_json: JsonOption = False,
) -> None:
    """List proposed links, the best first: both quotes, the score, and the reason.

    Example: kg proposals list --ontology notes --kind source
    """
    report(
        lambda kg: kg.proposals(ontology, kind=kind, state=state, offset=offset, limit=limit),
        views.print_proposals,
        as_json=as_json,
    )


@group.command()
def show(proposal_id: ProposalArgument, *, as_json: JsonOption = False) -> None:
    """Show one proposed link with the whole text of both quotes.

    Example: kg proposals show 4f1c0e...
    """
    report(lambda kg: kg.proposal(proposal_id), views.print_proposal, as_json=as_json)


@group.command()
def accept(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Accept a proposed link: related concepts, paths and the source graph show it.

    Example: kg proposals accept 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.accept_proposal(proposal_id, by=who), views.print_decision, as_json=as_json)


@group.command()
def reject(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Reject a proposed link: the two are never proposed again.

    Example: kg proposals reject 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.reject_proposal(proposal_id, by=who), views.print_decision, as_json=as_json)


@group.command()
def undo(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Open a proposal again that was accepted or rejected; its link goes.

    Example: kg proposals undo 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.undo_proposal(proposal_id, by=who), views.print_decision, as_json=as_json)


@group.command()
def search(
    *,
    ontology: OntologyOption,
    anew: Annotated[
        bool, typer.Option("--anew", help="Look at everything again, not only at what has changed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for links now; else a worker does it by itself when something has changed.

    Example: kg proposals search --ontology notes
    """
    report(lambda kg: kg.search_proposals(ontology, anew=anew), views.print_search, as_json=as_json)


@group.command()
def config(
    *,
    ontology: OntologyOption,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether links are proposed by themselves.")
    ] = None,
    min_similarity: CosineOption = None,
    min_concept_similarity: ConceptCosineOption = None,
    min_contrast: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="By how much two passages must be nearer than what is around them."),
    ] = None,
    min_concept_contrast: Annotated[
        float | None, typer.Option(min=-1, max=1, help="The same of two concepts.")
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(min=1, max=10, help="Each must be among so many nearest to the other.")
    ] = None,
    hops: Annotated[
        int | None, typer.Option(min=1, max=3, help="What so few steps connect is not proposed.")
    ] = None,
    max_open: Annotated[
        int | None, typer.Option(min=1, max=MAX_OPEN_PROPOSALS, help="Maximum open proposals.")
    ] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show or, with options, change how links are proposed in an ontology, and how far that is.

    What is not given stays as it is. Open proposals are looked at again; what was decided stays.

    Example: kg proposals config --ontology notes --min-similarity 0.85
    """
    chosen = given(
        enabled=enabled,
        min_similarity=min_similarity,
        min_concept_similarity=min_concept_similarity,
        min_contrast=min_contrast,
        min_concept_contrast=min_concept_contrast,
        neighbours=neighbours,
        hops=hops,
        max_open=max_open,
    )
    with open_client() as client:
        found = configure(
            client.proposals_config, client.set_proposals_config, ontology, chosen, dry_run=dry_run
        )
    emit(found, views.print_status, as_json=as_json)
