"""Saved results as a person reads them."""

from __future__ import annotations

from kg_api.models.evaluation import EvalSummaries, EvalSummary, ResultDeleted
from kg_api.wording.plural import pluralize
from kg_cli.terminal.console import line, note, print_table, say


def print_results(page: EvalSummaries) -> None:
    """Print a page of results, the files that are none, and how to see the next."""
    note(*page.notes)
    if page.evaluations:
        print_table(["name", "run", "questions", "ontology", "measured"], map(_row, page.evaluations))
    for each in page.unreadable:
        note(f"{each.name} {each.reason}")
    seen = page.offset + len(page.evaluations)
    more = f"; go on with --offset {seen}" if page.total > seen else ""
    say(f"{len(page.evaluations)} of {pluralize(page.total, 'result')}{more}")


def print_deleted(deleted: ResultDeleted) -> None:
    line(f"deleted: {deleted.name}")


def _row(each: EvalSummary) -> list[str]:
    measured = ", ".join(f"{name} {value:.4f}" for name, value in each.metrics.items())
    return [each.name, each.label, f"{each.asked} of {each.question_set}", each.ontology or "", measured]
