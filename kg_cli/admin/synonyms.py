"""`kg admin synonyms`: words that searches of an ontology take for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_cli.terminal.answers import report
from kg_cli.terminal.options import JsonOption, OntologyOption

if TYPE_CHECKING:
    from kg_api.models.words.synonyms import Synonyms

group = typer.Typer(help="Words that searches take for each other.", no_args_is_help=True)


@group.command("list")
def show(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """List the synonyms of an ontology.

    Example: kg admin synonyms list --ontology notes
    """
    report(lambda kg: kg.synonyms(ontology), _print, as_json=as_json)


@group.command("set")
def replace(
    groups: Annotated[
        list[str] | None, typer.Argument(help="Words with = between them; none: take all away.")
    ] = None,
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Replace the synonyms of an ontology; searches use them from a second later on.

    Example: kg admin synonyms set 'k8s = kubernetes' 'ML = machine learning' --ontology notes
    """
    from kg_api.models.words.synonyms import BETWEEN

    given = [[word.strip() for word in each.split(BETWEEN)] for each in groups or ()]
    report(lambda kg: kg.set_synonyms(ontology, given), _print, as_json=as_json)


def _print(answer: Synonyms) -> None:
    from kg_api.models.words.synonyms import BETWEEN
    from kg_cli.terminal import console

    for each in answer.groups:
        console.line(f" {BETWEEN} ".join(each))
    if not answer.groups:
        console.note(f"{answer.ontology} has no synonyms; `kg admin synonyms set` makes some")
