"""`kg admin language` and `kg admin synonyms`: which words full text takes for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kg_api.schemas.vocabulary import TextLanguage
from kg_api.wording import are, pluralize
from kg_cli.terminal.connect import JsonOption, OntologyOption, emit, open_client, report
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_api.schemas.languages import OntologyLanguage, Synonyms
    from kg_cli.terminal import console
else:
    console = LateModule("kg_cli.terminal.console")


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
    console.line(f"{answer.ontology}: {answer.language}")
    if answer.indexed:
        console.say(f"looked at {pluralize(answer.indexed, 'source')}")
    if not answer.complete:
        console.note(
            "not all sources are indexed so: go on by "
            f"kg admin language {answer.language} --ontology {answer.ontology}"
        )


# `kg admin synonyms`: words that searches of an ontology take for each other.

Groups: TypeAlias = list[list[str]]
MIN_WORDS = 2

group = typer.Typer(help="Words that searches take for each other.", no_args_is_help=True)


@group.command("list")
def show(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """List the synonyms of an ontology.

    Example: kg admin synonyms list --ontology notes
    """
    report(lambda kg: kg.synonyms(ontology), _print_synonyms, as_json=as_json)


@group.command("set")
def replace(
    groups: Annotated[
        list[str] | None, typer.Argument(help="Words with = between them; none: take all away.")
    ] = None,
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Replace all synonyms of an ontology; searches use them from a second later on.

    Example: kg admin synonyms set 'k8s = kubernetes' 'ML = machine learning' --ontology notes
    """
    given = _read(groups or ())
    _change(ontology, lambda _: given, as_json=as_json)


@group.command()
def add(
    groups: Annotated[list[str], typer.Argument(help="Words with = between them.")],
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Add synonyms to those of an ontology.

    Example: kg admin synonyms add 'k8s = kubernetes' --ontology notes
    """
    given = _read(groups)
    _change(ontology, lambda there: [*there, *(each for each in given if each not in there)], as_json=as_json)


@group.command()
def remove(
    words: Annotated[list[str], typer.Argument(help="A word of each group that shall go.")],
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Remove the groups of synonyms that have one of some words.

    Example: kg admin synonyms remove k8s --ontology notes
    """
    from kg_api.errors import NotFound

    leaving = {word.strip().casefold() for word in words}

    def without(there: Groups) -> Groups:
        known = {word.casefold() for each in there for word in each}
        if unknown := [word for word in words if word.strip().casefold() not in known]:
            raise NotFound(f"no group of synonyms has {', '.join(map(repr, unknown))}; nothing was changed")
        return [each for each in there if leaving.isdisjoint(word.casefold() for word in each)]

    _change(ontology, without, as_json=as_json)


def _read(groups: Sequence[str]) -> list[list[str]]:
    """Groups as they are typed.

    Raises:
        InvalidInput: one has not two words, or an empty one.
    """
    from kg_api.errors import InvalidInput
    from kg_api.schemas.languages import BETWEEN

    given = [[word.strip() for word in each.split(BETWEEN)] for each in groups]
    for each, words in zip(groups, given, strict=True):
        if len(words) < MIN_WORDS or not all(words):
            how = f"write two words or more, with {BETWEEN} between them, as in 'k8s {BETWEEN} kubernetes'"
            raise InvalidInput(f"{each!r} is no group of synonyms: {how}")
    return given


def _change(ontology: str, change: Callable[[Groups], Groups], *, as_json: bool) -> None:
    """Have other synonyms, and say how many of those before have gone."""
    with open_client() as client:
        before = client.synonyms(ontology).groups
        after = client.set_synonyms(ontology, change(before))
    emit(after, _print_synonyms, as_json=as_json)
    gone = [each for each in before if each not in after.groups]
    if gone:
        console.say(f"{pluralize(len(gone), 'group')} of before {are(len(gone))} gone")


def _print_synonyms(answer: Synonyms) -> None:
    from kg_api.schemas.languages import BETWEEN

    for each in answer.groups:
        console.line(f" {BETWEEN} ".join(each))
    if not answer.groups:
        console.note(f"{answer.ontology} has no synonyms; `kg admin synonyms set` makes some")
