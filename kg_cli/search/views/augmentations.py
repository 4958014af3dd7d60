"""Augmentations as a person reads them."""

from __future__ import annotations

import sys

from rich.text import Text

from kg_api.models.queries.augment import Augmented, AugmentRecord
from kg_api.wording.plural import pluralize
from kg_cli.search.views.passages import SHOWN_CHARACTERS, title_of
from kg_cli.terminal import console


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
    text = record.text.strip()
    shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
    similarity = "-" if record.similarity is None else f"{record.similarity:.2f}"
    pieces = ", ".join(map(str, record.pieces))
    return [
        str(number),
        similarity,
        pieces,
        title_of(record) + Text(shown) + Text(f"\n{record.citation}\n", style="dim"),
    ]
