"""`kg admin source-embeddings`: how an ontology's text is embedded, and how far that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.models.vocabulary import ContextMode, Strategy
from kg_api.wording.plural import are, pluralize

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.models.embedding.configuration import EmbeddingConfig, EmbeddingConfiguration
    from kg_api.models.library.documents import ConceptCounts

Name = Annotated[str, typer.Option("--ontology", "-o", help="The ontology.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]
Create = Annotated[bool, typer.Option("--create", help="Create the ontology if it does not exist.")]


def register(admin: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The vectors of sources.", no_args_is_help=True)
    group.command("status")(status)
    group.command("config")(config)
    group.command("generate")(generate)
    group.command("refused")(refused)
    admin.add_typer(group, name="source-embeddings")


def status(
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Ontology; unset: all of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the sources that have their vector, and those that lack it.

    Example: kg admin source-embeddings status --ontology notes
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table, say

    with open_client() as client:
        found = client.embedding_status(ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    counts = [found.total, found.embedded, found.missing, found.stale, found.refused]
    name = found.ontology or "all ontologies"
    columns = ["ontology", "total", "embedded", "missing", "stale", "refused"]
    print_table(columns, [[name, *map(str, counts)]])
    if found.concepts and found.concepts.total:
        say(f"concepts: {_of_concepts(found.concepts)}")
    if found.building:
        say(
            "what is counted here is being built; until it is complete, searches find "
            f"{pluralize(found.searchable, 'source')}"
        )
    if found.refused:
        say("why sources are refused: kg admin source-embeddings refused --ontology NAME")


def _of_concepts(counts: ConceptCounts) -> str:
    named = (
        f"{getattr(counts, name)} {name}" for name in ("total", "embedded", "missing", "stale", "refused")
    )
    later = f", {counts.deferred} of one source each to be embedded when asked for" if counts.deferred else ""
    return ", ".join(named) + later


def config(
    *,
    ontology: Name,
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
    space: Annotated[
        str | None, typer.Option(help="The embedding space: `kg admin embedding status` lists them.")
    ] = None,
    on_ingest: Annotated[
        bool | None, typer.Option("--on-ingest/--no-on-ingest", help="Embed new text automatically.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effects and the cost; change nothing.")
    ] = False,
    create: Create = False,
    as_json: AsJson = False,
) -> None:
    """Show or, with options, change the embedding configuration; says what becomes stale.

    What is not given stays as it is; another strategy starts with its own defaults. An ontology that is not
    there is made with --create only. What is embedded now goes on
    to answer until a worker has made all anew; then the new answers, by itself.

    Example: kg admin source-embeddings config --ontology notes --strategy sentence --dry-run
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    given = {
        "strategy": strategy,
        "chunk_size": chunk_size,
        "overlap": overlap,
        "parent_size": parent_size,
        "context": context,
        "space": space,
        "embed_on_ingest": on_ingest,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    with open_client() as client:
        if chosen or create:
            found = _configure_ontology(client, ontology, chosen, dry_run=dry_run, create=create)
        else:
            found = client.embedding_config(ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found)


def generate(*, ontology: Name, as_json: AsJson = False) -> None:
    """Embed what is missing or stale, now.

    It happens automatically if embedding on ingestion is on.

    Example: kg admin source-embeddings generate --ontology notes && kg jobs watch
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        started = client.embed_ontology(ontology)
    if as_json:
        print_json(started.model_dump(mode="json"))
    elif started.job_id is None:
        say("Nothing is missing or stale.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be embedded; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def refused(*, ontology: Name, as_json: AsJson = False) -> None:
    """List the sources that the model rejected, and why; only full text finds them.

    Example: kg admin source-embeddings refused --ontology notes
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table, say

    with open_client() as client:
        found = client.refused(ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    rows = [[f"{each.document}, paragraph {each.paragraph}", each.reason] for each in found.sources]
    if rows:
        print_table(["source", "reason"], rows)
    say(
        f"{pluralize(found.total, 'source')} {are(found.total)} refused; "
        "`kg admin source-embeddings generate` tries them again"
    )


def _configure_ontology(
    client: KgClient, ontology: str, chosen: dict[str, Any], *, dry_run: bool, create: bool
) -> EmbeddingConfiguration:
    if not create:
        client.embedding_config(ontology)  # a slip of the finger must not make an ontology
    return client.set_embedding_config(ontology, dry_run=dry_run, **chosen)


def _print(found: EmbeddingConfiguration) -> None:
    from kg_cli.terminal.console import print_table, say
    from kg_cli.terminal.costs import cost_rows

    config = found.config
    rows = [
        ("strategy", config.strategy),
        ("chunk size", f"{config.chunk_size} {config.unit}"),
        ("overlap", "-" if config.overlap is None else str(config.overlap)),
        ("parent size", "-" if config.parent_size is None else f"{config.parent_size} characters"),
        ("context", config.context),
        ("space", f"{config.space} ({pluralize(found.dimensions, 'dimension')})"),
        ("embed at ingestion", "on" if config.embed_on_ingest else "off"),
        (
            "sources",
            f"{found.total}: {found.embedded} embedded, {found.missing} missing, {found.stale} stale"
            + (f", {found.refused} refused" if found.refused else ""),
        ),
        *_others(found),
    ]
    due = found.missing + found.stale
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    print_table(["setting", "value"], [*rows, *(cost_rows(found.regeneration) if due else [])], title=title)
    for note in found.notes:
        say(f"note: {note}")


def _others(found: EmbeddingConfiguration) -> list[tuple[str, str]]:
    """What answers until the configuration is complete, and what one can go back to."""
    told = {"answers until then": found.answering, "before": found.previous}
    return [(name, _layout(config)) for name, config in told.items() if config is not None]


def _layout(config: EmbeddingConfig) -> str:
    chunks = f"{config.strategy} of {config.chunk_size} {config.unit}"
    return f"{chunks}, context {config.context}, space {config.space}"
