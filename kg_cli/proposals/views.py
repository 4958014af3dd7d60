"""Proposed links as a person reads them."""

from __future__ import annotations

from rich.markup import escape
from rich.text import Text

from kg_api.schemas.proposals import Proposal, ProposalEnd, Proposals, ProposalSearch, ProposalStatus
from kg_api.wording import pluralize
from kg_cli.terminal.console import line, note, print_table, say, say_rest

SHOWN = 160
"""Characters of a quote in a list; `show` gives all of it."""


def print_proposals(page: Proposals) -> None:
    """Print a page of proposals, and how to see the next."""
    note(*page.notes)
    if not page.proposals:
        say("No links are proposed here.")
        return
    print_table(["score", "link", "id"], map(_row, page.proposals))
    say_rest(page, len(page.proposals), "proposal")
    say("kg proposals accept ID, or reject ID; kg proposals show ID gives both quotes whole")


def print_proposal(proposal: Proposal) -> None:
    """Print one with the whole text of its quotes."""
    line(f"{proposal.proposal_id}  {proposal.kind}  {proposal.state}  score {proposal.score:.2f}")
    line(proposal.reason)
    for end in proposal.ends:
        line("")
        line(_place(end), "bold")
        line(end.quote.strip())


def print_decision(proposal: Proposal) -> None:
    """Say what became of a proposal."""
    note(*proposal.notes)
    ends = " and ".join(_place(end) for end in proposal.ends)
    undo = f"Undo it with: kg proposals undo {proposal.proposal_id}"
    told = {
        "accepted": f"{ends} are linked. {undo}",
        "rejected": f"{ends} are never proposed again. {undo}",
        "open": f"The link between {ends} is open again.",
    }
    say(escape(told[proposal.state]))


def print_search(answer: ProposalSearch) -> None:
    """Say what a worker does now."""
    note(*answer.notes)
    if answer.job_id:
        due = f"{pluralize(answer.due, 'source or concept', 'sources and concepts')} to look at"
        told = due if answer.due else "a worker looks for links"
        say(f"{told}: job {answer.job_id}; kg proposals list shows what it proposes")


def print_status(status: ProposalStatus) -> None:
    """Print how links are proposed, and how far that is."""
    note(*status.notes)
    own = status.config.model_dump(exclude_none=True)
    rows = [
        [name, str(value), "this ontology" if name in own else "settings"]
        for name, value in status.used.model_dump().items()
    ]
    print_table(["setting", "value", "from"], rows)
    at = f"{status.searched_at:%Y-%m-%d %H:%M}" if status.searched_at else "never yet"
    counts = f"{status.open} open, {status.accepted} accepted, {status.rejected} rejected"
    left = f", {status.dropped} weaker ones left out" if status.dropped else ""
    say(f"{counts}{left}; {status.due} sources and concepts to look at; all looked at: {at}")


def _row(proposal: Proposal) -> tuple[str, Text, str]:
    state = "" if proposal.state == "open" else f" ({proposal.state})"
    first, second = map(_quoted, proposal.ends)
    told = Text.assemble(first, "\n", second, (f"\n{proposal.reason}{state}", "dim"))
    return f"{proposal.score:.2f}", told, proposal.proposal_id


def _quoted(end: ProposalEnd) -> Text:
    text = " ".join(end.quote.split())
    cut = f"{text[:SHOWN]}…" if len(text) > SHOWN else text
    return Text.assemble((_place(end), "bold"), f" {cut}")


def _place(end: ProposalEnd) -> str:
    where = f"{end.source.document}#{end.source.paragraph}"
    return f"{end.label} ({where})" if end.label else where
