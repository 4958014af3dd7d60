"""`kg admin concepts`: how concepts are extracted, what that costs, and how far it is."""

from __future__ import annotations

import getpass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kg_api.schemas.vocabulary import ALIKE, MAX_PER_SOURCE, ExtractorName, Stance
from kg_cli.admin.options import ByOption, CreateOption, DryRunOption, configure
from kg_cli.terminal.connect import (
    JsonOption,
    LimitOption,
    OffsetOption,
    OntologyOption,
    PageOption,
    emit,
    given,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_api.schemas.concepts import RelationshipType
    from kg_cli.admin import concept_views as views
else:
    views = LateModule("kg_cli.admin.concept_views")

ExtractorOption = Annotated[
    ExtractorName | None,
    typer.Option(help="llm: by the language model, with relationships; keyphrase; none."),
]
PerSourceOption = Annotated[
    int | None, typer.Option(min=1, max=MAX_PER_SOURCE, help="Maximum number of concepts per source.")
]
BudgetOption = Annotated[
    float | None, typer.Option(min=0, help="Total budget for the language model, in US dollars.")
]

group = typer.Typer(help="The concepts of sources.", no_args_is_help=True)


@group.command()
def status(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """Count the sources that were read, those that are due, and what was found.

    Example: kg admin concepts status --ontology notes
    """
    with open_client() as client:
        emit(client.extraction_config(ontology), partial(views.print_progress, client), as_json=as_json)


@group.command()
def config(
    *,
    ontology: OntologyOption,
    extractor: ExtractorOption = None,
    per_source: PerSourceOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    create: CreateOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show or, with options, change the extraction configuration, which starts the work.

    What is not given stays as it is. An ontology that is not there is made with --create only. A job that
    has used up its money goes on with a larger budget.

    Example: kg admin concepts config --ontology notes --extractor llm --budget 2
    """
    chosen = given(extractor=extractor, per_source=per_source, budget=budget)
    more = {"dry_run": dry_run, "create": create}
    report(
        lambda kg: configure(kg.extraction_config, kg.set_extraction_config, ontology, chosen, **more),
        views.print_status,
        as_json=as_json,
    )


@group.command()
def preview(
    *,
    ontology: OntologyOption,
    extractor: ExtractorOption = None,
    per_source: PerSourceOption = None,
    budget: BudgetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the requests, tokens and cost of extraction; calls no model and changes nothing.

    Example: kg admin concepts preview --ontology notes --extractor llm
    """
    chosen = given(extractor=extractor, per_source=per_source, budget=budget)
    with open_client() as client:
        read = partial(client.extraction_config, with_cost=not chosen)
        found = configure(read, client.set_extraction_config, ontology, chosen, dry_run=True)
    emit(found, views.print_status, as_json=as_json)


@group.command()
def extract(
    *,
    ontology: OntologyOption,
    stale: Annotated[
        bool, typer.Option("--stale", help="Also read what another model or prompt has read; it may cost.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Start extracting concepts from what is due; failed sources are retried.

    It happens automatically after ingestion, unless the extractor is none. What another language model has
    read is read again only with --stale; `preview` says what that costs.

    Example: kg admin concepts extract --ontology notes && kg jobs watch
    """
    report(lambda kg: kg.extract_concepts(ontology, stale=stale), views.print_started, as_json=as_json)


@group.command()
def refused(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """List the sources from which extraction failed, and why.

    Example: kg admin concepts refused --ontology notes
    """
    report(lambda kg: kg.extraction_refused(ontology), views.print_refused, as_json=as_json)


@group.command()
def merges(
    *,
    ontology: OntologyOption,
    concept: Annotated[
        str | None, typer.Option("--concept", help="Only what became part of this one, by its id.")
    ] = None,
    offset: OffsetOption = 0,
    limit: PageOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List the concepts that became one, and why, the last first.

    Example: kg admin concepts merges --ontology notes
    """
    report(
        lambda kg: kg.concept_merges(ontology, concept_id=concept, offset=offset, limit=limit),
        views.print_merges,
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
    """Part two concepts that became one, for good; each has again what it had.

    Example: kg admin concepts undo 4f1c0e... --ontology notes
    """
    who = by or getpass.getuser()
    report(lambda kg: kg.undo_concept_merge(ontology, merge_id, by=who), views.print_merge, as_json=as_json)


# `kg admin relationship-types`: the vocabulary of an ontology's relationships.

relationships_group = typer.Typer(help="Types of relationships: list, merge, undo.", no_args_is_help=True)


@relationships_group.command("list")
def show(
    *, ontology: OntologyOption, offset: OffsetOption = 0, limit: PageOption = 50, as_json: JsonOption = False
) -> None:
    """List the types of an ontology's relationships, the most frequent first.

    Example: kg admin relationship-types list --ontology notes
    """
    report(
        lambda kg: kg.relationship_types(ontology, offset=offset, limit=limit),
        views.print_types,
        as_json=as_json,
    )


@relationships_group.command("preview")
def preview_type_merges(
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
    report(
        lambda kg: kg.propose_relationship_types(ontology, min_similarity=min_similarity, limit=limit),
        views.print_proposals,
        as_json=as_json,
    )


@relationships_group.command()
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
    who = by or getpass.getuser()
    report(
        lambda kg: kg.merge_relationship_types(ontology, into=into, merged=merged, by=who, dry_run=dry_run),
        views.print_relationship_merge,
        as_json=as_json,
    )


@relationships_group.command("merges")
def list_type_merges(
    *, ontology: OntologyOption, offset: OffsetOption = 0, limit: PageOption = 50, as_json: JsonOption = False
) -> None:
    """List what was merged, by whom and when, the last first.

    Example: kg admin relationship-types merges --ontology notes
    """
    report(
        lambda kg: kg.relationship_type_merges(ontology, offset=offset, limit=limit),
        views.print_relationship_merges,
        as_json=as_json,
    )


@relationships_group.command("undo")
def undo_type_merge(
    merge_id: Annotated[str, typer.Argument(help="Id of a merge, as `merges` lists it.")],
    *,
    ontology: OntologyOption,
    by: ByOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the types of a merge be on their own again.

    Example: kg admin relationship-types undo 4f1c0e... --ontology notes
    """
    who = by or getpass.getuser()
    report(
        lambda kg: kg.undo_type_merge(ontology, merge_id, by=who),
        views.print_relationship_merge,
        as_json=as_json,
    )


@relationships_group.command()
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
