"""`kg eval results` and `kg eval judgements`: saved results, and which passages answer a question."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import MAX_RELEVANCE
from kg_api.wording import pluralize
from kg_cli.terminal.connect import (
    JsonOption,
    OffsetOption,
    OnlyOntologyOption,
    OntologyOption,
    PageOption,
    YesOption,
    confirm,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_api.schemas.evaluation import EvalSummaries, JudgedQuestions, Judgement, Judgements
    from kg_cli.terminal import console
else:
    console = LateModule("kg_cli.terminal.console")

results = typer.Typer(help="Results that the service has saved: list and delete them.", no_args_is_help=True)


@results.command("list")
def show_results(
    *,
    ontology: OnlyOntologyOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List saved results, the newest first.

    Example: kg eval results list --ontology handbook
    """
    report(lambda kg: kg.evaluations(ontology, offset=offset, limit=limit), _print_results, as_json=as_json)


@results.command("delete")
def delete_result(
    name: Annotated[str, typer.Argument(help="As `kg eval results list` tells it.")],
    *,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a saved result with its answers and its picture.

    Example: kg eval results delete 20260101T000000Z-handbook-full-hybrid-1a2b3c4d --yes
    """
    if not yes:
        confirm(f"Delete the result {name} for good?")
    report(
        lambda kg: kg.delete_evaluation(name),
        lambda gone: console.line(f"deleted: {gone.name}"),
        as_json=as_json,
    )


def _print_results(page: EvalSummaries) -> None:
    console.note(*page.notes)
    if page.evaluations:
        rows = [
            [
                *(each.name, each.label, f"{each.asked} of {each.question_set}", each.ontology or ""),
                ", ".join(f"{name} {value:.4f}" for name, value in each.metrics.items()),
            ]
            for each in page.evaluations
        ]
        console.print_table(["name", "run", "questions", "ontology", "measured"], rows)
    console.note(*(f"{each.name} {each.reason}" for each in page.unreadable))
    console.say_rest(page, len(page.evaluations), "result")


# Judgements.

judgements = typer.Typer(
    help="Judge passages as answers; the judged questions are a question set.", no_args_is_help=True
)

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="As it was searched for.")]


@judgements.command("set")
def judge(
    question: QuestionArgument,
    source_id: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH, from 0."),
    ],
    *,
    ontology: OntologyOption,
    relevance: Annotated[
        int,
        typer.Option(min=0, max=MAX_RELEVANCE, help="2: it answers; 1: it helps to answer; 0: neither."),
    ] = MAX_RELEVANCE,
    by: Annotated[
        str | None, typer.Option("--by", help="Who says so; unset: the user of this machine.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a passage as an answer to a question; what was said of it before is replaced.

    Example: kg eval judgements set "how are retries delayed?" handbook/queues.md#12 --ontology handbook
    """
    who = by or getpass.getuser()
    report(
        lambda kg: kg.judge(ontology, question=question, source_id=source_id, relevance=relevance, by=who),
        _print_judgement,
        as_json=as_json,
    )


@judgements.command("list")
def show_judgements(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="Only those for it; unset: all.")
    ] = None,
    *,
    ontology: OntologyOption,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List judgements, for each question the best first.

    Example: kg eval judgements list "how are retries delayed?" --ontology handbook
    """
    report(
        lambda kg: kg.judgements(ontology, question, offset=offset, limit=limit),
        _print_judgements,
        as_json=as_json,
    )


@judgements.command("questions")
def show_questions(
    *,
    ontology: OntologyOption,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List the questions that passages were judged for.

    Example: kg eval judgements questions --ontology handbook
    """
    report(
        lambda kg: kg.judged_questions(ontology, offset=offset, limit=limit),
        _print_questions,
        as_json=as_json,
    )


@judgements.command("delete")
def take_back(
    question: QuestionArgument,
    *,
    ontology: OntologyOption,
    source_id: Annotated[
        str | None, typer.Option("--source", help="Whole id of one passage; unset: all that were judged.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Take back what was judged for a question.

    Example: kg eval judgements delete "how are retries delayed?" --ontology handbook
    """
    report(
        lambda kg: kg.delete_judgements(ontology, question, source_id),
        lambda gone: console.say(f"{pluralize(gone.judgements, 'judgement')} taken back"),
        as_json=as_json,
    )


_MEANINGS = ("neither answers nor helps", "helps to answer", "answers")
"""By relevance."""
_NONE_JUDGED = "is judged here: kg eval judgements set QUESTION SOURCE"


def _print_judgement(judgement: Judgement) -> None:
    console.line(f"{_place(judgement)} {_MEANINGS[judgement.relevance]}: {judgement.question}")


def _print_judgements(page: Judgements) -> None:
    console.note(*page.notes)
    if not page.judgements:
        console.say(f"Nothing {_NONE_JUDGED}")
        return
    rows = list[list[str]]()
    for each in page.judgements:
        text = "the text has changed since"
        if each.source is not None:
            text = " ".join(each.source.full_text.split())[:80]
        rows.append([str(each.relevance), each.question, text, _place(each)])
    console.print_table(["relevance", "question", "passage", "source"], rows)
    console.say_rest(page, len(page.judgements), "judgement")


def _print_questions(page: JudgedQuestions) -> None:
    console.note(*page.notes)
    if not page.questions:
        console.say(f"No question {_NONE_JUDGED}")
        return
    rows = [[e.question, str(e.judgements), str(e.relevant), str(e.gone)] for e in page.questions]
    console.print_table(["question", "judged", "relevant", "changed since"], rows)
    console.say_rest(page, len(page.questions), "question")


def _place(judgement: Judgement) -> str:
    place = judgement.source
    name = f"{judgement.ontology}/{judgement.document}"
    return name if place is None else f"{name}#{place.paragraph}"
