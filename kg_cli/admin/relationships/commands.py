"""`kg admin relationship-types`: the vocabulary of an ontology's relationships."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.models.vocabulary import ALIKE, Stance
from kg_cli.admin.options import ByOption, DryRunOption
from kg_cli.terminal.answers import report
from kg_cli.terminal.options import JsonOption, LimitOption, OffsetOption, OntologyOption, PageOption

if TYPE_CHECKING:
    from kg_api.models.concepts.vocabulary import RelationshipType

group = typer.Typer(help="Types of relationships: list, merge, undo.", no_args_is_help=True)


@group.command("list")
def show(
    *, ontology: OntologyOption, offset: OffsetOption = 0, limit: PageOption = 50, as_json: JsonOption = False
) -> None:
    """List the types of an ontology's relationships, the most frequent first.

    Example: kg admin relationship-types list --ontology notes
    """
    from kg_cli.admin.relationships.views import print_types

    report(
        lambda kg: kg.relationship_types(ontology, offset=offset, limit=limit), print_types, as_json=as_json
    )


@group.command()
def preview(
    *,
    ontology: OntologyOption,
    min_similarity: Annotated[
        float, typer.Option("--min-similarity", min=0, max=1, help="Minimum cosine similarity of two names.")
    ] = ALIKE,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Show types that may say the same, with examples; nothing is changed.

    Example: kg admin relationship-types preview --ontology notes
    """
    from kg_cli.admin.relationships.views import print_proposals

    report(
        lambda kg: kg.propose_relationship_types(ontology, min_similarity=min_similarity, limit=limit),
        print_proposals,
        as_json=as_json,
    )


@group.command()
def merge(
    into: Annotated[str, typer.Argument(help="The type that stays.")],
    merged: Annotated[list[str], typer.Argument(help="Types that are read as that one.")],
    *,
    ontology: OntologyOption,
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let types be read as another one; what sources state is kept, and it can be undone.

    Example: kg admin relationship-types merge requires needs "depends on" --ontology notes
    """
    from kg_cli.admin.relationships.views import print_merge

    who = by or getpass.getuser()
    report(
        lambda kg: kg.merge_relationship_types(ontology, into=into, merged=merged, by=who, dry_run=dry_run),
        print_merge,
        as_json=as_json,
    )


@group.command()
def merges(
    *, ontology: OntologyOption, offset: OffsetOption = 0, limit: PageOption = 50, as_json: JsonOption = False
) -> None:
    """List what was merged, by whom and when, the last first.

    Example: kg admin relationship-types merges --ontology notes
    """
    from kg_cli.admin.relationships.views import print_merges

    report(
        lambda kg: kg.relationship_type_merges(ontology, offset=offset, limit=limit),
        print_merges,
        as_json=as_json,
    )


@group.command()
def undo(
    merge_id: Annotated[str, typer.Argument(help="Id of a merge, as `merges` lists it.")],
    *,
    ontology: OntologyOption,
    by: ByOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the types of a merge be on their own again.

    Example: kg admin relationship-types undo 4f1c0e... --ontology notes
    """
    from kg_cli.admin.relationships.views import print_merge

    who = by or getpass.getuser()
    report(lambda kg: kg.undo_type_merge(ontology, merge_id, by=who), print_merge, as_json=as_json)


@group.command()
def stance(
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="A type of relationships.")],
    value: Annotated[
        Stance | None, typer.Argument(metavar="STANCE", help="What it says; unset: what its name says.")
    ] = None,
    *,
    ontology: OntologyOption,
    as_json: JsonOption = False,
) -> None:
    """Set whether a type supports or contradicts what it goes to, for the grounding of concepts.

    Example: kg admin relationship-types stance "casts doubt on" contradicts --ontology notes
    """

    def describe(answer: RelationshipType) -> None:
        from kg_cli.terminal.console import say

        say(f"{answer.name}: {answer.stance}")

    report(lambda kg: kg.set_relationship_stance(ontology, kind, value), describe, as_json=as_json)
