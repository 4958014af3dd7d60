"""`kg admin language`: the language by whose rules full text finds the forms of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.models.vocabulary import TextLanguage
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OntologyOption

if TYPE_CHECKING:
    from kg_api.models.words.language import OntologyLanguage


def language(
    chosen: Annotated[
        TextLanguage | None,
        typer.Argument(
            metavar="[LANGUAGE]", help="auto, or a code such as de; without one: say what is chosen."
        ),
    ] = None,
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Choose the language of an ontology's texts, so that full text finds the forms of its words.

    `auto`, the default, tells it by each text, which one of a few words does not.

    Example: kg admin language de --ontology notes
    """
    with open_client() as client:
        answer = client.language(ontology) if chosen is None else client.set_language(ontology, chosen)
        while chosen is not None and not answer.complete:
            going_on = client.set_language(ontology, chosen)
            answer = going_on.model_copy(update={"indexed": answer.indexed + going_on.indexed})
        emit(answer, _print, as_json=as_json)


def _print(answer: OntologyLanguage) -> None:
    from kg_api.wording.plural import pluralize
    from kg_cli.terminal import console

    console.line(f"{answer.ontology}: {answer.language}")
    if answer.indexed:
        console.say(f"looked at {pluralize(answer.indexed, 'source')}")
    if not answer.complete:
        console.note(
            "not all sources are indexed so: go on by "
            f"kg admin language {answer.language} --ontology {answer.ontology}"
        )
