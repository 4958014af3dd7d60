"""`kg admin source-embeddings`: how an ontology's text is embedded, and how far that is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kg_api.schemas.vocabulary import ContextMode, ImageProvider, Modality, Provider, Strategy
from kg_cli.admin.options import CreateOption, DryRunOption, FollowOption, SpacesGroup, configure
from kg_cli.terminal.connect import (
    JsonOption,
    OnlyOntologiesOption,
    OnlyOntologyOption,
    OntologyOption,
    YesOption,
    confirm,
    emit,
    given,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.admin import embedding_views as views
else:
    views = LateModule("kg_cli.admin.embedding_views")

group = typer.Typer(help="The vectors of sources.", no_args_is_help=True)


@group.command()
def status(*, ontology: OnlyOntologyOption = None, as_json: JsonOption = False) -> None:
    """Count the sources that have their vector, and those that lack it.

    Example: kg admin source-embeddings status --ontology notes
    """
    report(lambda kg: kg.embedding_status(ontology), views.print_counts, as_json=as_json)


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
    more = {"dry_run": dry_run, "create": create}
    report(
        lambda kg: configure(kg.embedding_config, kg.set_embedding_config, ontology, chosen, **more),
        views.print_configuration,
        as_json=as_json,
    )


@group.command()
def generate(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """Embed what is missing or stale, now.

    It happens automatically if embedding on ingestion is on.

    Example: kg admin source-embeddings generate --ontology notes && kg jobs watch
    """
    report(lambda kg: kg.embed_ontology(ontology), views.print_started, as_json=as_json)


@group.command()
def refused(*, ontology: OntologyOption, as_json: JsonOption = False) -> None:
    """List the sources that the model rejected, and why; only full text finds them.

    Example: kg admin source-embeddings refused --ontology notes
    """
    report(lambda kg: kg.refused(ontology), views.print_refused, as_json=as_json)


# `kg admin spaces`: the embedding spaces, their models, and changing the model while people search.

NOT_OK = 1
UNHEALTHY = 69
SpaceArgument = Annotated[str, typer.Argument(help="Name of the space, as `kg admin spaces list` shows it.")]

spaces_group = typer.Typer(
    cls=SpacesGroup,
    help="Embedding spaces: their models, and changing the model while people search.",
    no_args_is_help=True,
)


@spaces_group.command("list")
def list_spaces(*, as_json: JsonOption = False) -> None:
    """List the embedding spaces: state, model, what it takes and gives, and the ontologies that use them.

    Example: kg admin spaces list
    """
    report(lambda kg: kg.embedding_spaces(), views.print_spaces, as_json=as_json)


@spaces_group.command()
def create(
    slug: Annotated[str, typer.Argument(help="Name of the space: lower-case letters, digits and _.")],
    *,
    provider: Annotated[Literal[Provider, ImageProvider], typer.Option(help="Whose model it is.")],
    modality: Annotated[
        Modality, typer.Option(help="What is embedded in it: text, or image for what is seen on pictures.")
    ] = "text",
    model: Annotated[
        str | None, typer.Option(help="Name of the model; unset: the provider's default.")
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            help="Dimensions; unset: the model's default. Fewer if the model supports shortened vectors."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an embedding space; the model is probed once, and gets its own index.

    Its key and address come from the environment of service and worker (OPENAI_API_KEY, ...).
    Models that see pictures: histogram and onnx (offline), nomic, openai, cohere (docs/guides/images.md).

    Example: kg admin spaces create small --provider openai --model text-embedding-3-small --dimensions 512

    Example: kg admin spaces create seen --modality image --provider histogram
    """
    chosen = given(model=model, dimensions=dimensions)
    report(
        lambda kg: kg.add_embedding_space(slug, provider=provider, modality=modality, **chosen),
        views.print_created,
        as_json=as_json,
    )


@spaces_group.command()
def build(
    slug: SpaceArgument,
    *,
    ontology: OnlyOntologiesOption = None,
    activate: Annotated[
        bool, typer.Option("--activate", help="Activate the space automatically once it is complete.")
    ] = False,
    dry_run: DryRunOption = False,
    watch: FollowOption = False,
    as_json: JsonOption = False,
) -> None:
    """Embed ontologies in a space in the background, while the active one keeps serving searches.

    What is written meanwhile is embedded in both. Nothing changes for searches until you activate it.

    Example: kg admin spaces build small --ontology notes --watch
    """
    from kg_cli.jobs.report import wait_for_jobs

    with open_client() as client:
        made = client.build_space(slug, ontologies=ontology, activate=activate, dry_run=dry_run)
        emit(made, partial(views.print_builds, dry_run=dry_run), as_json=as_json)
        if watch:
            wait_for_jobs(client, [each.job_id for each in made.builds if each.job_id])
    if not (as_json or dry_run or activate):
        views.say(f"when it is complete: kg admin spaces check {slug} && kg admin spaces activate {slug}")


@spaces_group.command()
def check(
    slug: SpaceArgument,
    *,
    ontology: Annotated[
        str | None,
        typer.Option("--ontology", "-o", help="Ontology; unset: all that were built in the space."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check whether a space is ready: index, model, completeness, every vector; exit code 1 if not.

    Example: kg admin spaces check small
    """
    found = report(lambda kg: kg.check_space(slug, ontology), views.print_check, as_json=as_json)
    if not found.ok:
        raise typer.Exit(NOT_OK)


@spaces_group.command()
def health(*, as_json: JsonOption = False) -> None:
    """Check that the model of each space responds; the exit code is 69 when one fails.

    Example: kg admin spaces health
    """
    found = report(lambda kg: kg.embedding_health(), views.print_health, as_json=as_json)
    if found.status != "ok":
        raise typer.Exit(UNHEALTHY)


@spaces_group.command()
def activate(
    slug: SpaceArgument,
    *,
    ontology: OnlyOntologiesOption = None,
    accept_refused: Annotated[
        bool, typer.Option("--accept-refused", help="Activate even if the model rejected some texts.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Activate an embedding space: it is checked, then switched at once.

    The previous one is kept for rollback.

    Without --ontology new ontologies use it too.

    Example: kg admin spaces activate small
    """
    report(
        lambda kg: kg.activate_space(slug, ontology, accept_refused=accept_refused),
        views.print_switched,
        as_json=as_json,
    )


@spaces_group.command()
def rollback(
    slug: SpaceArgument, *, ontology: OnlyOntologiesOption = None, as_json: JsonOption = False
) -> None:
    """Roll back to the previously active space, at once; cancel what is being built in this one.

    Example: kg admin spaces rollback small
    """
    report(lambda kg: kg.rollback_space(slug, ontology), views.print_switched, as_json=as_json)


@spaces_group.command()
def drop(
    slug: SpaceArgument,
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Only this ontology's unused vectors.")
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Drop a space with its index and vectors; it can no longer be rolled back to. Searches are not affected.

    Example: kg admin spaces drop small --yes
    """
    what = f"the space {slug}" if ontology is None else f"what {ontology} does not need in {slug}"
    if not yes:
        confirm(f"Remove {what} for good?")
    report(lambda kg: kg.drop_space(slug, ontology), partial(views.print_dropped, what=what), as_json=as_json)
