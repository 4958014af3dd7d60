"""`kg eval judgements`: which passages answer a question, as people say."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from kg_api.schemas.vocabulary import MAX_RELEVANCE
from kg_cli.terminal.connect import JsonOption, OffsetOption, OntologyOption, PageOption, report

group = typer.Typer(
    help="Judge passages as answers; the judged questions are a question set.", no_args_is_help=True
)

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="As it was searched for.")]


@group.command("set")
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
    from kg_cli.evaluate.views import print_judgement

    who = by or getpass.getuser()
    report(
        lambda kg: kg.judge(ontology, question=question, source_id=source_id, relevance=relevance, by=who),
        print_judgement,
        as_json=as_json,
    )


@group.command("list")
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
    from kg_cli.evaluate.views import print_judgements

    report(
        lambda kg: kg.judgements(ontology, question, offset=offset, limit=limit),
        print_judgements,
        as_json=as_json,
    )


@group.command("questions")
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
    from kg_cli.evaluate.views import print_questions

    report(
        lambda kg: kg.judged_questions(ontology, offset=offset, limit=limit), print_questions, as_json=as_json
    )


@group.command("delete")
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
    from kg_cli.evaluate.views import print_deleted_judgements as print_deleted

    report(lambda kg: kg.delete_judgements(ontology, question, source_id), print_deleted, as_json=as_json)
