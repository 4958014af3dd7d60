"""Answers and augmentations as a person reads them."""

from __future__ import annotations

import sys

from rich.markup import escape
from rich.text import Text

from kg_api.mcp.citation import read_citation
from kg_api.models.queries.answering import Answered, Citation, Statement
from kg_api.models.queries.augment import Augmented, AugmentRecord
from kg_api.wording.plural import pluralize
from kg_cli.search.views.marking import excerpt, marks_in
from kg_cli.search.views.passages import title_of
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


def print_context_block(answer: Augmented) -> None:
    """Print the Markdown, to a program as it is; what there is to say besides goes to standard error."""
    sys.stdout.write(console.escape_text(answer.context) if sys.stdout.isatty() else answer.context)
    _say(answer)


def print_records(answer: Augmented) -> None:
    """Print the passages as a table."""
    if answer.records:
        rows = [_row(number, record) for number, record in enumerate(answer.records, start=1)]
        console.print_table(["#", "similarity", "pieces", "passage"], rows)
    _say(answer)


def _say(answer: Augmented) -> None:
    console.note(*(each.effect for each in answer.degraded), *answer.notes)
    counts = answer.counts
    if not answer.records:
        console.say("No passage goes with the text.")
    far = f" ({counts.below_similarity} not similar enough)" if counts.below_similarity else ""
    unknown = f" ({counts.without_vector} of unknown similarity)" if counts.without_vector else ""
    console.say(
        f"{pluralize(counts.tokens, 'token')} in {pluralize(counts.pieces, 'piece')}: "
        f"{pluralize(counts.candidates, 'hit')}{far}{unknown}, {pluralize(counts.records, 'passage')} of "
        f"{pluralize(answer.context_tokens, 'token')}, {answer.timings_ms['total']:.0f} ms"
    )


def _row(number: int, record: AugmentRecord) -> list[str | Text]:
    similarity = "-" if record.similarity is None else f"{record.similarity:.2f}"
    pieces = ", ".join(map(str, record.pieces))
    _, place = read_citation(record.citation)
    marks = marks_in(record, record.matches, place.start if place else record.start, record.text)
    return [
        str(number),
        similarity,
        pieces,
        title_of(record) + excerpt(record.text, marks) + Text(f"\n{record.citation}\n", style="dim"),
    ]
