"""Answers as a person reads them: statements as they come, then the places that prove them."""

from __future__ import annotations

from rich.markup import escape
from rich.text import Text

from kg_api.models.queries.answering import Answered, Citation, Statement
from kg_api.wording.plural import pluralize
from kg_cli.terminal import console

SHOWN_CHARACTERS = 300


def print_statement(statement: Statement) -> None:
    """Print one as soon as it is there."""
    numbers = "".join(f"[{cited.number}]" for cited in statement.citations)
    console.stdout().print(Text.assemble(statement.text, " ", (numbers, "cyan"), "\n"))


def print_end(answer: Answered) -> None:
    """Print the places, and what there is to say besides."""
    for cited in answer.citations:
        console.stdout().print(_place(cited))
    console.note(*(each.effect for each in answer.degraded))
    counts = answer.counts
    if answer.reason is not None:
        console.say(f"No answer: {escape(answer.reason)}.")
    if counts.without_citation:
        console.note(_describe_left_out(counts.without_citation))
    told = f"{pluralize(counts.statements, 'statement')} from {pluralize(counts.shown, 'passage')}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{told} by {escape(answer.model)}, {took}. Read around one: kg show CITATION")


def _place(cited: Citation) -> Text:
    where = " > ".join([*cited.heading, f"¶{cited.paragraph}"])
    quote = " ".join(cited.quote.split())
    shown = quote if len(quote) <= SHOWN_CHARACTERS else f"{quote[:SHOWN_CHARACTERS]}…"
    return Text.assemble(
        (f"[{cited.number}] ", "cyan"),
        (f"{cited.ontology} / {cited.document}", "bold"),
        "  ",
        (where, "cyan"),
        f"\n    “{shown}”\n",
        (f"    {cited.citation}", "dim"),
    )


def _describe_left_out(count: int) -> str:
    were = "was" if count == 1 else "were"
    return (
        f"{pluralize(count, 'statement')} {were} left out: its quotes do not stand in the passages it names"
    )
