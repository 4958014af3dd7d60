"""`kg admin language` and `kg admin synonyms`: language and synonyms of full-text search."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from kg_api.schemas.vocabulary import TextLanguage
from kg_api.wording import pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import command, make_group
from kg_cli.terminal.options import argument

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.languages import OntologyLanguage, Synonyms

BETWEEN = "="
MIN_WORDS = 2


def _print_language(answer: OntologyLanguage) -> None:
    console.line(f"{answer.ontology}: {answer.language}")
    if answer.indexed:
        console.say(f"{pluralize(answer.indexed, 'source')} checked")
    if not answer.complete:
        again = f"kg admin language {answer.language} --ontology {shlex.quote(answer.ontology)}"
        console.note(f"not all sources are indexed in this language. Continue with: {again}")


@command(show=_print_language)
def language(
    kg: KgClient,
    chosen: Annotated[
        TextLanguage | None,
        argument("Language code, such as de, or auto. Default: show the language.", metavar="[LANGUAGE]"),
    ] = None,
    *,
    ontology: options.Ontology,
) -> OntologyLanguage:
    """Set the language of an ontology's texts, so that full-text search finds inflected forms.

    With `auto`, the default, kg detects the language of each text that is long enough.

    Example: kg admin language de --ontology notes
    """
    if chosen is None:
        return kg.language(ontology)
    answer = kg.set_language(ontology, chosen)
    while not answer.complete:
        more = kg.set_language(ontology, chosen)
        answer = more.model_copy(update={"indexed": answer.indexed + more.indexed})
    return answer


# `kg admin synonyms`

group = make_group("Words that searches treat as equal.")

GroupsArgument = Annotated[list[str], argument("Words that mean the same, such as car=auto.")]


def _print_synonyms(answer: Synonyms) -> None:
    for each in answer.groups:
        console.line(f" {BETWEEN} ".join(each))
    if not answer.groups:
        console.note(f"{answer.ontology} has no synonyms. Add some with `kg admin synonyms add`")


@command(group, "list", asks="synonyms", show=_print_synonyms)
def list_synonyms(*, ontology: options.Ontology) -> None:
    """List the synonyms of an ontology.

    Example: kg admin synonyms list --ontology notes
    """


@command(group, "set", show=_print_synonyms)
def replace(
    kg: KgClient,
    groups: Annotated[
        list[str] | None, argument("Words that mean the same, such as car=auto. Omit them to remove all.")
    ] = None,
    *,
    ontology: options.Ontology,
) -> Synonyms:
    """Replace all synonyms of an ontology. Searches use the new synonyms after a second.

    Example: kg admin synonyms set 'k8s = kubernetes' 'ML = machine learning' --ontology notes
    """
    return _set(kg, ontology, kg.synonyms(ontology).groups, _read(groups or ()))


@command(group, show=_print_synonyms)
def add(kg: KgClient, groups: GroupsArgument, *, ontology: options.Ontology) -> Synonyms:
    """Add synonyms to an ontology.

    Example: kg admin synonyms add 'k8s = kubernetes' --ontology notes
    """
    new, known = _read(groups), kg.synonyms(ontology).groups
    return kg.set_synonyms(ontology, [*known, *(each for each in new if each not in known)])


@command(group, show=_print_synonyms)
def remove(
    kg: KgClient,
    words: Annotated[list[str], argument("One word from each group to remove.")],
    *,
    ontology: options.Ontology,
) -> Synonyms:
    """Remove the synonym groups that contain one of the given words.

    Example: kg admin synonyms remove k8s --ontology notes
    """
    from kg_api.errors import NotFound

    groups = kg.synonyms(ontology).groups
    leaving = {word.strip().casefold() for word in words}
    known = {word.casefold() for each in groups for word in each}
    if unknown := [word for word in words if word.strip().casefold() not in known]:
        raise NotFound(f"no group of synonyms has {', '.join(map(repr, unknown))}. Nothing was changed")
    kept = [each for each in groups if leaving.isdisjoint(word.casefold() for word in each)]
    return _set(kg, ontology, groups, kept)


def _set(kg: KgClient, ontology: str, before: list[list[str]], after: list[list[str]]) -> Synonyms:
    answer = kg.set_synonyms(ontology, after)
    if gone := sum(each not in answer.groups for each in before):
        console.say(f"{pluralize(gone, 'group')} removed")
    return answer


def _read(groups: Sequence[str]) -> list[list[str]]:
    from kg_api.errors import InvalidInput

    read = [[word.strip() for word in each.split(BETWEEN)] for each in groups]
    for each, words in zip(groups, read, strict=True):
        if len(words) < MIN_WORDS or not all(words):
            how = f"write two or more words, with {BETWEEN} between them, as in 'k8s {BETWEEN} kubernetes'"
            raise InvalidInput(f"{each!r} is not a group of synonyms: {how}")
    return read
