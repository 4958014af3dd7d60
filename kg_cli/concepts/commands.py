"""Concepts: what documents are about, with the quotes that prove it."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_cli.concepts import imports

Which = Annotated[str, typer.Argument(help="A concept's id or name, or a phrase for it.")]
Ontology = Annotated[str | None, typer.Option("--ontology", "-o", help="Only in this ontology.")]
Hops = Annotated[int, typer.Option("--hops", min=1, max=4, help="Maximum number of hops.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Find concepts and what proves them.", no_args_is_help=True)
    group.command()(search)
    group.command()(show)
    group.command()(related)
    group.command()(path)
    group.command()(context)
    group.command()(neighbourhood)
    group.command("list")(list_concepts)
    imports.register(group)
    app.add_typer(group, name="concept")


def search(
    text: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    *,
    ontology: Ontology = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Find concepts by meaning, by words and by name.

    Example: kg concept search "delayed retries" --ontology notes
    """
    from kg_cli.concepts.views import print_answer, print_concept_hits
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.search_concepts(text, ontology=ontology, limit=limit)
    print_answer(answer, print_concept_hits, as_json=as_json)


def show(
    concept: Which,
    *,
    ontology: Ontology = None,
    quotes: Annotated[
        int, typer.Option("--quotes", "-q", min=1, max=200, help="How many quotes, and related concepts.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show a concept: what it is, the quotes that prove it with their place, and what it is related to.

    Example: kg concept show "lease" --ontology notes
    """
    from kg_cli.concepts.views import print_answer, print_concept, take_concept
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.concept(take_concept(client, concept, ontology), limit=quotes)
    print_answer(answer, print_concept, as_json=as_json)


def related(
    concept: Which,
    *,
    ontology: Ontology = None,
    hops: Hops = 1,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number of results.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what a concept is related to, in the words of the texts.

    Example: kg concept related "lease" --hops 2
    """
    from kg_cli.concepts.views import print_answer, print_related, take_concept
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.related_concepts(take_concept(client, concept, ontology), hops=hops, limit=limit)
    print_answer(answer, print_related, as_json=as_json)


def path(
    start: Which,
    end: Which,
    *,
    ontology: Ontology = None,
    hops: Hops = 4,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=20, help="Maximum number of paths.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Find the shortest paths between two concepts, through relationships or shared sources.

    Example: kg concept path "heartbeat" "retry" --hops 3
    """
    from kg_cli.concepts.views import print_answer, print_paths
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.concept_paths(start, end, ontology=ontology, hops=hops, limit=limit)
    print_answer(answer, print_paths, as_json=as_json)


def context(
    concept: Which,
    *,
    ontology: Ontology = None,
    window: Annotated[
        int, typer.Option("--window", "-w", min=0, max=20, help="Paragraphs before and after.")
    ] = 2,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="How many of the sources that carry it.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the sources in which a concept appears, with their neighbours.

    Example: kg concept context "lease" --window 1
    """
    from kg_cli.concepts.views import print_answer, print_passages, take_concept
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        identity = take_concept(client, concept, ontology)
        answer = client.get_concept_context(identity, window_size=window, limit=limit)
    print_answer(answer, print_passages, as_json=as_json)


def neighbourhood(
    concept: Which,
    *,
    ontology: Ontology = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="How many concepts.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the concepts around one and how they are connected; --json gives nodes and edges for a picture.

    Example: kg concept neighbourhood "lease" --limit 30 --json
    """
    from kg_cli.concepts.views import print_answer, print_neighbourhood, take_concept
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.neighbourhood(take_concept(client, concept, ontology), limit=limit)
    print_answer(answer, print_neighbourhood, as_json=as_json)


def list_concepts(
    ontology: Annotated[str, typer.Argument(help="Name of an ontology.")],
    *,
    offset: Annotated[int, typer.Option(min=0, help="Number of items to skip.")] = 0,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="Maximum number of results.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List the concepts of an ontology, those that most sources carry first.

    Example: kg concept list notes --limit 20
    """
    from kg_cli.concepts.views import print_answer, print_concepts
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        answer = client.concepts(ontology, offset=offset, limit=limit)
    print_answer(answer, print_concepts, as_json=as_json)
