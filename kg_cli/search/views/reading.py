"""A document as a person reads it."""

from __future__ import annotations

import shlex

from rich.markup import escape
from rich.text import Text

from kg_api.models.library.metadata import date_of
from kg_api.models.queries.reading import DocumentReading
from kg_api.wording.plural import pluralize
from kg_cli.terminal import console


def print_reading(part: DocumentReading) -> None:
    """Print paragraphs as they stand in the text, under what the document is, and how to go on."""
    console.note(*(each.effect for each in part.degraded))
    about = part.document
    known = [about.title if about.title != about.document else "", date_of(about.metadata) or ""]
    told = ", ".join([f"{about.ontology} / {about.document}", *(each for each in known if each)])
    console.stdout().print(Text(told + "\n", style="bold"))
    console.stdout().print(Text("".join(each.full_text for each in part.sources).rstrip()))
    if part.next is None:
        console.say(f"\nThat is the end of {pluralize(about.sources, 'paragraph')}.")
    else:
        name = f"{about.ontology}/{about.document}"
        left = f"{part.left} of {pluralize(about.sources, 'paragraph')} left"
        console.say(f"\n{left}. Read on: kg read {escape(shlex.quote(name))} --from {part.next}")
