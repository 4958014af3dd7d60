"""`kg eval results` and `kg eval judgements`: saved results and relevance judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.schemas.vocabulary import MAX_RELEVANCE
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, message

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.evaluation import EvalSummaries, EvalSummary, Judgement

results = make_group("Results that the service has saved: list and delete them.")


def _measured(each: EvalSummary) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in each.metrics.items())


_results = Table(
    "evaluations",
    {
        "name": "name",
        "run": "label",
        "questions": lambda each: f"{each.asked} of {each.question_set}",
        "ontology": "ontology",
        "measured": _measured,
    },
    noun=("result",),
)


def print_results(page: EvalSummaries) -> None:
    _results(page)
    console.note(*(f"{each.name} {each.reason}" for each in page.unreadable))


@command(results, "list", asks="evaluations", show=print_results)
def list_results(
    *, ontology: options.OnlyOntology = None, offset: options.Offset = 0, limit: options.Page = 50
) -> None:
    """List saved results, the newest first.

    Example: kg eval results list --ontology handbook
    """


@command(results, "delete", show=message("deleted: {0.name}"))
def delete_result(
    kg: KgClient,
    name: Annotated[str, typer.Argument(help="As `kg eval results list` shows it.")],
    *,
    yes: options.Yes = False,
) -> Any:
    """Delete a saved result with its answers.

    Example: kg eval results delete 20260101T000000Z-handbook-full-hybrid-1a2b3c4d --yes
    """
    if not yes:
        options.confirm(f"Delete the result {name} for good?")
    return kg.delete_evaluation(name)


# Judgements

judgements = make_group("Judge passages as answers. The judged questions are a question set.")

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="The question of the search.")]
LABELS = ("neither answers nor helps", "helps to answer", "answers")
NONE_JUDGED = "is judged here: kg eval judgements set QUESTION SOURCE"


def _place(judgement: Judgement) -> str:
    name = f"{judgement.ontology}/{judgement.document}"
    return name if judgement.source is None else f"{name}#{judgement.source.paragraph}"


def _passage(judgement: Judgement) -> str:
    if judgement.source is None:
        return "the text has changed since"
    return " ".join(judgement.source.full_text.split())[:80]


def print_judgement(judgement: Judgement) -> None:
    console.line(f"{_place(judgement)} {LABELS[judgement.relevance]}: {judgement.question}")


@command(judgements, "set", asks="judge", show=print_judgement)
def judge(
    question: QuestionArgument,
    source_id: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH, from 0."),
    ],
    *,
    ontology: options.Ontology,
    relevance: Annotated[
        int,
        typer.Option(min=0, max=MAX_RELEVANCE, help="2: answers. 1: helps to answer. 0: neither."),
    ] = MAX_RELEVANCE,
    by: options.By = None,
) -> None:
    """Judge a passage as an answer to a question. This replaces an earlier judgement.

    Example: kg eval judgements set "how are retries delayed?" handbook/queues.md#12 --ontology handbook
    """


@command(
    judgements,
    "list",
    asks="judgements",
    show=Table(
        "judgements",
        {"relevance": "relevance", "question": "question", "passage": _passage, "source": _place},
        noun=("judgement",),
        empty=f"Nothing {NONE_JUDGED}",
    ),
)
def list_judgements(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="Only judgements of this question. Default: all."),
    ] = None,
    *,
    ontology: options.Ontology,
    offset: options.Offset = 0,
    limit: options.Page = 100,
) -> None:
    """List judgements, the best first for each question.

    Example: kg eval judgements list "how are retries delayed?" --ontology handbook
    """


@command(
    judgements,
    "questions",
    asks="judged_questions",
    show=Table(
        "questions",
        {
            "question": "question",
            "judged": "judgements",
            "relevant": "relevant",
            "changed since": "gone",
        },
        noun=("question",),
        empty=f"No question {NONE_JUDGED}",
    ),
)
def list_questions(
    *, ontology: options.Ontology, offset: options.Offset = 0, limit: options.Page = 100
) -> None:
    """List the questions with judged passages.

    Example: kg eval judgements questions --ontology handbook
    """


@command(judgements, "delete", asks="delete_judgements", show=message("judgements deleted: {0.judgements}"))
def take_back(
    question: QuestionArgument,
    *,
    ontology: options.Ontology,
    source_id: Annotated[
        str | None, typer.Option("--source", help="Whole id of one passage. Default: all judged passages.")
    ] = None,
) -> None:
    """Delete the judgements of a question.

    Example: kg eval judgements delete "how are retries delayed?" --ontology handbook
    """
