"""What waits for approval, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.text import Text

from kg_api.models.library.batches import DocumentOutcome
from kg_api.models.library.review import WaitingDocument, WaitingDocuments
from kg_api.wording.plural import pluralize
from kg_cli.documents.notes import describe_duplicates
from kg_cli.terminal import console

BEGINNING = 100
"""Characters of a text that are shown."""


def print_waiting(page: WaitingDocuments, *, offset: int) -> None:
    """Print a page of what waits, and how to see the next."""
    if not page.documents:
        console.say("Nothing waits for approval here.")
        return
    console.print_table(["document", "sources"], map(_row, page.documents))
    shown = len(page.documents)
    if page.total > offset + shown:
        console.say(f"{shown} of {page.total} shown; go on with --offset {offset + shown}")
    console.say("kg documents approve NAME --ontology ONTOLOGY, or --all; kg documents reject likewise")


def _row(waiting: WaitingDocument) -> tuple[Text, str]:
    change = " (changed)" if waiting.replaces else ""
    beginning = " ".join(waiting.beginning.split())[:BEGINNING]
    name = (f"{waiting.ontology} / {waiting.document}", "bold")
    return Text.assemble(name, change, (f"\n{beginning}", "dim")), str(waiting.sources)


def print_approved(
    outcomes: Sequence[DocumentOutcome], unknown: Sequence[str], *, ontology: str, as_json: bool
) -> None:
    """Say what became of documents that were approved."""
    if as_json:
        told = [each.model_dump(mode="json") for each in outcomes]
        console.print_json({"outcomes": told, "unknown": list(unknown)})
        return
    stored = [each.ingested for each in outcomes if each.ingested]
    problems = [each.problem for each in outcomes if each.problem]
    console.line(f"{ontology}: {pluralize(len(stored), 'document')} approved")
    found = [(each.document, each.duplicate_of) for each in stored if each.duplicate_of]
    for line in describe_duplicates(found):
        console.line(f"  {line}")
    for each in problems:
        console.line(f"  failed: {each.detail}", "red")
    _print_unknown(unknown)


def print_rejected(rejected: int, unknown: Sequence[str], *, ontology: str, as_json: bool) -> None:
    """Say how many documents wait no more."""
    if as_json:
        console.print_json({"rejected": rejected, "unknown": list(unknown)})
        return
    console.line(f"{ontology}: {pluralize(rejected, 'document')} rejected")
    _print_unknown(unknown)


def say_waiting(waiting: Mapping[str, int]) -> None:
    """Say what waits, beside what is there."""
    for ontology, count in waiting.items():
        hint = f"kg documents waiting --ontology {ontology!r}"
        waits = f"{pluralize(count, 'document')} of {ontology} wait{'s' if count == 1 else ''} for approval"
        console.say(escape(f"{waits}: {hint}"))


def _print_unknown(unknown: Sequence[str]) -> None:
    for each in unknown:
        console.line(f"  nothing waits under the name {each}", "red")
