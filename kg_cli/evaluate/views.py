"""Saved results as a person reads them."""

from __future__ import annotations

from kg_api.schemas.evaluation import (
    EvalSummaries,
    EvalSummary,
    JudgedQuestion,
    JudgedQuestions,
    Judgement,
    Judgements,
    JudgementsDeleted,
    ResultDeleted,
)
from kg_api.wording import pluralize
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


# Judgements as a person reads them.

MEANINGS = ("neither answers nor helps", "helps to answer", "answers")
"""By relevance."""
_SHOWN = 80


def print_judgement(judgement: Judgement) -> None:
    """Say what was kept."""
    line(f"{_place(judgement)} {MEANINGS[judgement.relevance]}: {judgement.question}")


def print_judgements(page: Judgements) -> None:
    """Print a page of judgements, and how to see the next."""
    note(*page.notes)
    if not page.judgements:
        say("Nothing is judged here: kg eval judgements set QUESTION SOURCE")
        return
    print_table(["relevance", "question", "passage", "source"], map(_row_judgement_views, page.judgements))
    _print_rest(len(page.judgements), page.offset, page.total, "judgement")


def print_questions(page: JudgedQuestions) -> None:
    """Print a page of questions, and how to see the next."""
    note(*page.notes)
    if not page.questions:
        say("No question is judged here: kg eval judgements set QUESTION SOURCE")
        return
    print_table(["question", "judged", "relevant", "changed since"], map(_question_row, page.questions))
    _print_rest(len(page.questions), page.offset, page.total, "question")


def print_deleted_judgements(deleted: JudgementsDeleted) -> None:
    """Say how much has gone."""
    say(f"{pluralize(deleted.judgements, 'judgement')} taken back")


def _row_judgement_views(judgement: Judgement) -> list[str]:
    place = judgement.source
    text = "the text has changed since" if place is None else " ".join(place.full_text.split())[:_SHOWN]
    return [str(judgement.relevance), judgement.question, text, _place(judgement)]


def _question_row(each: JudgedQuestion) -> list[str]:
    return [each.question, str(each.judgements), str(each.relevant), str(each.gone)]


def _place(judgement: Judgement) -> str:
    place = judgement.source
    name = f"{judgement.ontology}/{judgement.document}"
    return name if place is None else f"{name}#{place.paragraph}"


def _print_rest(shown: int, offset: int, total: int, noun: str) -> None:
    more = f"; go on with --offset {offset + shown}" if total > offset + shown else ""
    say(f"{shown} of {pluralize(total, noun)}{more}")
