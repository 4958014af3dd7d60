"""`kg proposals`: links between passages, and between concepts, of different documents."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_OPEN_PROPOSALS, ProposalKind, ProposalState
from kg_api.wording import pluralize
from kg_cli.admin.options import ByOption, DryRunOption, configure
from kg_cli.terminal.connect import (
    JsonOption,
    OffsetOption,
    OnlyOntologyOption,
    OntologyOption,
    PageOption,
    given,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from rich.text import Text

    from kg_api.schemas.proposals import Proposal, ProposalEnd, Proposals, ProposalSearch, ProposalStatus
    from kg_cli.terminal import console
else:
    console = LateModule("kg_cli.terminal.console")

group = typer.Typer(
    help="Links that are proposed between passages or concepts: list, accept, reject.", no_args_is_help=True
)

ProposalArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a proposal, as `list` gives it, or its first 8 digits.")
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
        _print_page,
        as_json=as_json,
    )


@group.command()
def show(proposal_id: ProposalArgument, *, as_json: JsonOption = False) -> None:
    """Show one proposed link with the whole text of both quotes.

    Example: kg proposals show 4f1c0e...
    """
    report(lambda kg: kg.proposal(proposal_id), _print_whole, as_json=as_json)


@group.command()
def accept(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Accept a proposed link: related concepts, paths and the source graph show it.

    Example: kg proposals accept 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.accept_proposal(proposal_id, by=who), _print_decision, as_json=as_json)


@group.command()
def reject(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Reject a proposed link: the two are never proposed again.

    Example: kg proposals reject 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.reject_proposal(proposal_id, by=who), _print_decision, as_json=as_json)


@group.command()
def undo(proposal_id: ProposalArgument, *, by: ByOption = None, as_json: JsonOption = False) -> None:
    """Open a proposal again that was accepted or rejected; its link goes.

    Example: kg proposals undo 4f1c0e...
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.undo_proposal(proposal_id, by=who), _print_decision, as_json=as_json)


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
    report(lambda kg: kg.search_proposals(ontology, anew=anew), _print_search, as_json=as_json)


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
    report(
        lambda kg: configure(kg.proposals_config, kg.set_proposals_config, ontology, chosen, dry_run=dry_run),
        _print_status,
        as_json=as_json,
    )


SHOWN = 160
"""Characters of a quote in a list; `show` gives all of it."""


def _print_page(page: Proposals) -> None:
    from rich.text import Text

    console.note(*page.notes)
    if not page.proposals:
        console.say("No links are proposed here.")
        return
    rows: list[tuple[str, str | Text, str]] = []
    for each in page.proposals:
        state = "" if each.state == "open" else f" ({each.state})"
        told = Text()
        for end in each.ends:
            text = " ".join(end.quote.split())
            cut = f"{text[:SHOWN]}…" if len(text) > SHOWN else text
            told.append(_place(end), "bold").append(f" {cut}\n")
        rows.append((f"{each.score:.2f}", told.append(f"{each.reason}{state}", "dim"), each.proposal_id))
    console.print_table(["score", "link", "id"], rows)
    console.say_rest(page, len(page.proposals), "proposal")
    console.say("kg proposals accept ID, or reject ID; kg proposals show ID gives both quotes whole")


def _print_whole(proposal: Proposal) -> None:
    console.line(f"{proposal.proposal_id}  {proposal.kind}  {proposal.state}  score {proposal.score:.2f}")
    console.line(proposal.reason)
    for end in proposal.ends:
        console.line("")
        console.line(_place(end), "bold")
        console.line(end.quote.strip())


def _print_decision(proposal: Proposal) -> None:
    from rich.markup import escape

    console.note(*proposal.notes)
    ends = " and ".join(_place(end) for end in proposal.ends)
    undo = f"Undo it with: kg proposals undo {proposal.proposal_id}"
    told = {
        "accepted": f"{ends} are linked. {undo}",
        "rejected": f"{ends} are never proposed again. {undo}",
        "open": f"The link between {ends} is open again.",
    }
    console.say(escape(told[proposal.state]))


def _print_search(answer: ProposalSearch) -> None:
    console.note(*answer.notes)
    if answer.job_id:
        due = f"{pluralize(answer.due, 'source or concept', 'sources and concepts')} to look at"
        told = due if answer.due else "a worker looks for links"
        console.say(f"{told}: job {answer.job_id}; kg proposals list shows what it proposes")


def _print_status(status: ProposalStatus) -> None:
    console.note(*status.notes)
    own = status.config.model_dump(exclude_none=True)
    rows = [
        [name, str(value), "this ontology" if name in own else "settings"]
        for name, value in status.used.model_dump().items()
    ]
    console.print_table(["setting", "value", "from"], rows)
    at = f"{status.searched_at:%Y-%m-%d %H:%M}" if status.searched_at else "never yet"
    counts = f"{status.open} open, {status.accepted} accepted, {status.rejected} rejected"
    left = f", {status.dropped} weaker ones left out" if status.dropped else ""
    console.say(f"{counts}{left}; {status.due} sources and concepts to look at; all looked at: {at}")


def _place(end: ProposalEnd) -> str:
    where = f"{end.source.document}#{end.source.paragraph}"
    return f"{end.label} ({where})" if end.label else where
