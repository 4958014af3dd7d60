"""`kg proposals`: proposed links between passages or concepts of different documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from kg_api.schemas.vocabulary import ProposalKind, ProposalState
from kg_api.wording import pluralize, shorten
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, note_all
from kg_cli.terminal.console import Part, Shown
from kg_cli.terminal.options import argument, option

if TYPE_CHECKING:
    from kg_api.schemas.operations import JobStarted
    from kg_api.schemas.proposals import Proposal, ProposalEnd

group = make_group("Proposed links between passages or concepts: list, accept, reject.")

ProposalArgument = Annotated[str, argument("Id of the proposal, or its first 8 digits.", metavar="ID")]
SHOWN = 160  # characters of a quote in a list: `show` prints the whole quote


def _format_place(end: ProposalEnd) -> str:
    where = f"{end.source.document}#{end.source.paragraph}"
    return f"{end.label} ({where})" if end.label else where


def _link(each: Proposal) -> Shown:
    parts: list[Part] = []
    for end in each.ends:
        text = " ".join(end.quote.split())
        parts += [(_format_place(end), "bold"), f" {shorten(text, SHOWN)}\n"]
    return [*parts, (each.reason if each.state == "open" else f"{each.reason} ({each.state})", "dim")]


print_page = Table(
    "proposals",
    {"score": "score", "link": _link, "id": "proposal_id"},
    noun=("proposal",),
    empty="No proposed links.",
    hint="Decide with `kg proposals accept ID` or `reject ID`. `kg proposals show ID` prints both quotes.",
)


@command(group, "list", asks="proposals", show=print_page)
def list_proposals(
    *,
    ontology: options.OnlyOntology = None,
    kind: Annotated[ProposalKind | None, option("Only show this kind of link.")] = None,
    state: Annotated[ProposalState | None, option("Only show proposals in this state.")] = "open",
    offset: options.Offset = 0,
    limit: options.Page = 10,
) -> None:
    """List proposed links with both quotes, the score and the reason, the best first.

    Example: kg proposals list --ontology notes --kind source
    """


def print_whole(proposal: Proposal) -> None:
    console.line(f"{proposal.proposal_id}  {proposal.kind}  {proposal.state}  score {proposal.score:.2f}")
    console.line(proposal.reason)
    for end in proposal.ends:
        console.line([("\n" + _format_place(end), "bold"), f"\n{end.quote.strip()}"])


@command(group, asks="proposal", show=print_whole)
def show(proposal_id: ProposalArgument) -> None:
    """Show a proposed link with the whole text of both quotes.

    Example: kg proposals show 4f1c0e...
    """


def print_decision(proposal: Proposal) -> None:
    note_all(proposal)
    ends = " and ".join(map(_format_place, proposal.ends))
    undo_it = f"Undo it with: kg proposals undo {proposal.proposal_id}"
    fields = {
        "accepted": f"{ends} are linked. {undo_it}",
        "rejected": f"{ends} are never proposed again. {undo_it}",
        "open": f"The link between {ends} is open again.",
    }
    console.say(fields[proposal.state])


@command(group, asks="accept_proposal", show=print_decision)
def accept(proposal_id: ProposalArgument, *, by: options.By = None) -> None:
    """Accept a proposed link. Related concepts, paths and the source graph then show the link.

    Example: kg proposals accept 4f1c0e...
    """


@command(group, asks="reject_proposal", show=print_decision)
def reject(proposal_id: ProposalArgument, *, by: options.By = None) -> None:
    """Reject a proposed link permanently.

    Example: kg proposals reject 4f1c0e...
    """


@command(group, asks="undo_proposal", show=print_decision)
def undo(proposal_id: ProposalArgument, *, by: options.By = None) -> None:
    """Reopen an accepted or rejected proposal and delete its link.

    Example: kg proposals undo 4f1c0e...
    """


def print_search(answer: JobStarted) -> None:
    note_all(answer)
    if answer.job_id:
        due = f"{pluralize(answer.due, 'source or concept', 'sources and concepts')} to check"
        message = due if answer.due else "a worker searches for links"
        console.say(f"{message}: job {answer.job_id}. See the links with: kg proposals list")


@command(group, asks="search_proposals", show=print_search)
def search(
    *,
    ontology: options.Ontology,
    anew: Annotated[bool, option("Check everything again, not only changes.", "--anew")] = False,
) -> None:
    """Search for links now. A worker searches automatically after changes.

    Example: kg proposals search --ontology notes
    """
