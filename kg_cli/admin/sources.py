"""`kg admin source-embeddings`: how an ontology's text is embedded, and how far that is."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.models.vocabulary import ContextMode, Strategy
from kg_cli.admin.options import CreateOption, DryRunOption, configure
from kg_cli.terminal.answers import emit, report
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyOntologyOption, OntologyOption, given

group = typer.Typer(help="The vectors of sources.", no_args_is_help=True)


@group.command()
def status(*, ontology: OnlyOntologyOption = None, as_json: JsonOption = False) -> None:
    """Count the sources that have their vector, and those that lack it.

    Example: kg admin source-embeddings status --ontology notes
    """
    from kg_cli.admin.source_views import print_counts

    report(lambda kg: kg.embedding_status(ontology), print_counts, as_json=as_json)


@group.command()
def config(
    *,
    ontology: OntologyOption,
    strategy: Annotated[Strategy | None, typer.Option(help="Chunking strategy.")] = None,
    chunk_size: Annotated[
        int | None,
        typer.Option(help="Words of a chunk; for hierarchical: characters. Unset: the strategy's."),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(help="Repeated in the next chunk: words, characters, or paragraphs (paragraph_group)."),
    ] = None,
    parent_size: Annotated[
        int | None, typer.Option(help="Characters of what is read around a small chunk (hierarchical).")
    ] = None,
    context: Annotated[
        ContextMode | None, typer.Option(help="Context that a chunk is embedded with.")
    ] = None,
    context_template: Annotated[
        str | None, typer.Option(help="Line of {title}, {heading}, {date}, {author}; [ ] is optional.")
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="The embedding space: `kg admin spaces list` shows them.")
    ] = None,
    on_ingest: Annotated[
        bool | None, typer.Option("--on-ingest/--no-on-ingest", help="Embed new text automatically.")
    ] = None,
    dry_run: DryRunOption = False,
    create: CreateOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show or, with options, change the embedding configuration; says what becomes stale.

    What is not given stays as it is; another strategy starts with its own defaults. An ontology that is not
    there is made with --create only. What is embedded now goes on
    to answer until a worker has made all anew; then the new answers, by itself.

    Example: kg admin source-embeddings config --ontology notes --strategy sentence --dry-run
    """
    from kg_cli.admin.source_views import print_configuration

    chosen = given(
        strategy=strategy,
        chunk_size=chunk_size,
        overlap=overlap,
        parent_size=parent_size,
        context=context,
        context_template=context_template,
        space=space,
        embed_on_ingest=on_ingest,
    )
    with open_client() as client:
        found = configure(
            client.embedding_config,
            client.set_embedding_config,
            ontology,
            chosen,
            dry_run=dry_run,
            create=create,
        )
    emit(found, print_configuration, as_json=as_json)


@group.command()
def generate(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """Embed what is missing or stale, now.

    It happens automatically if embedding on ingestion is on.

    Example: kg admin source-embeddings generate --ontology notes && kg jobs watch
    """
    from kg_cli.admin.source_views import print_started

    report(lambda kg: kg.embed_ontology(ontology), print_started, as_json=as_json)


@group.command()
def refused(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """List the sources that the model rejected, and why; only full text finds them.

    Example: kg admin source-embeddings refused --ontology notes
    """
    from kg_cli.admin.source_views import print_refused

    report(lambda kg: kg.refused(ontology), print_refused, as_json=as_json)
