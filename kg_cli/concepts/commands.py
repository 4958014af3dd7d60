"""Concepts: what documents are about, with the quotes that prove it."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.models.vocabulary import MAX_EVIDENCE, MAX_HOPS, MAX_PASSAGES, MAX_PATHS, MAX_RELATED
from kg_cli.concepts.imports import import_file
from kg_cli.terminal.answers import emit, report
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import (
    JsonOption,
    LimitOption,
    NeighboursOption,
    OffsetOption,
    OnlyOntologyOption,
    PageOption,
    QueryArgument,
    require_words,
)

ConceptArgument = Annotated[
    str, typer.Argument(help="A concept's id or name, or a phrase for it.", callback=require_words)
]
HopsOption = Annotated[int, typer.Option(min=1, max=MAX_HOPS, help="Maximum number of hops.")]
RelatedOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=MAX_RELATED, help="How many concepts.")
]

group = typer.Typer(help="Find concepts and what proves them.", no_args_is_help=True)


@group.command()
def search(
    text: QueryArgument,
    *,
    ontology: OnlyOntologyOption = None,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Find concepts by meaning, by words and by name.

    Example: kg concept search "delayed retries" --ontology notes
    """
    from kg_cli.concepts.views import print_concept_hits

    with open_client() as client:
        answer = client.search_concepts(text, ontology=ontology, limit=limit)
    emit(answer, print_concept_hits, as_json=as_json)


@group.command()
def show(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    quotes: Annotated[
        int,
        typer.Option(
            "--quotes", "-q", min=1, max=MAX_EVIDENCE, help="How many quotes, and related concepts."
        ),
    ] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show a concept: what it is, the quotes that prove it with their place, and what it is related to.

    Example: kg concept show "lease" --ontology notes
    """
    from kg_cli.concepts.views import print_concept, take_concept

    with open_client() as client:
        answer = client.concept(take_concept(client, concept, ontology), limit=quotes)
    emit(answer, print_concept, as_json=as_json)


@group.command()
def related(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    hops: HopsOption = 1,
    limit: RelatedOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Show what a concept is related to, in the words of the texts.

    Example: kg concept related "lease" --hops 2
    """
    from kg_cli.concepts.views import print_related, take_concept

    with open_client() as client:
        answer = client.related_concepts(take_concept(client, concept, ontology), hops=hops, limit=limit)
    emit(answer, print_related, as_json=as_json)


@group.command()
def relations(
    text: QueryArgument,
    *,
    ontology: OnlyOntologyOption = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only of this type; repeat for several.")
    ] = None,
    limit: LimitOption = 10,
    min_similarity: Annotated[
        float | None, typer.Option("--min-similarity", min=-1, max=1, help="Minimum cosine similarity.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find relationships by what they say, with the quotes that state them.

    Example: kg concept relations "what does a lease need" --type requires
    """
    from kg_cli.concepts.views import print_relationships

    with open_client() as client:
        answer = client.search_relationships(
            text,
            ontologies=[ontology] if ontology else None,
            types=kinds or None,
            limit=limit,
            min_similarity=min_similarity,
        )
    emit(answer, print_relationships, as_json=as_json)


@group.command()
def path(
    start: ConceptArgument,
    end: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    hops: HopsOption = MAX_HOPS,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_PATHS, help="Maximum number of paths.")
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Find the shortest paths between two concepts, through relationships or shared sources.

    Example: kg concept path "heartbeat" "retry" --hops 3
    """
    from kg_cli.concepts.views import print_paths

    with open_client() as client:
        answer = client.concept_paths(start, end, ontology=ontology, hops=hops, limit=limit)
    emit(answer, print_paths, as_json=as_json)


@group.command()
def context(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    window: NeighboursOption = 2,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", min=1, max=MAX_PASSAGES, help="How many of the sources that carry it."),
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show the sources in which a concept appears, with their neighbours.

    Example: kg concept context "lease" --window 1
    """
    from kg_cli.concepts.views import print_passages, take_concept

    with open_client() as client:
        identity = take_concept(client, concept, ontology)
        answer = client.get_concept_context(identity, window_size=window, limit=limit)
    emit(answer, print_passages, as_json=as_json)


@group.command()
def neighbourhood(
    concept: ConceptArgument,
    *,
    ontology: OnlyOntologyOption = None,
    limit: RelatedOption = 50,
    as_json: JsonOption = False,
) -> None:
    """Show the concepts around one and how they are connected; --json gives nodes and edges for a picture.

    Example: kg concept neighbourhood "lease" --limit 30 --json
    """
    from kg_cli.concepts.views import print_neighbourhood, take_concept

    with open_client() as client:
        answer = client.neighbourhood(take_concept(client, concept, ontology), limit=limit)
    emit(answer, print_neighbourhood, as_json=as_json)


@group.command("list")
def list_concepts(
    ontology: Annotated[str, typer.Argument(help="Name of an ontology.")],
    *,
    offset: OffsetOption = 0,
    limit: PageOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List the concepts of an ontology, those that most sources carry first.

    Example: kg concept list notes --limit 20
    """
    from kg_cli.concepts.views import print_concepts

    report(lambda kg: kg.concepts(ontology, offset=offset, limit=limit), print_concepts, as_json=as_json)


group.command("import")(import_file)
