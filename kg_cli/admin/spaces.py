"""`kg admin spaces`: the embedding spaces, their models, and changing the model while people search."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from kg_api.models.vocabulary import ImageProvider, Modality, Provider
from kg_cli.admin.options import DryRunOption, FollowOption, SpacesGroup
from kg_cli.terminal.answers import emit, report
from kg_cli.terminal.confirm import confirm
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyOntologiesOption, YesOption

NOT_OK = 1
UNHEALTHY = 69
SpaceArgument = Annotated[str, typer.Argument(help="Name of the space, as `kg admin spaces list` shows it.")]

group = typer.Typer(
    cls=SpacesGroup,
    help="Embedding spaces: their models, and changing the model while people search.",
    no_args_is_help=True,
)


@group.command("list")
def list_spaces(*, as_json: JsonOption = False) -> None:
    """List the embedding spaces: state, model, what it takes and gives, and the ontologies that use them.

    Example: kg admin spaces list
    """
    from kg_cli.admin.space_views import print_spaces

    report(lambda kg: kg.embedding_spaces(), print_spaces, as_json=as_json)


@group.command()
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
    Models that see pictures: histogram and onnx (offline), nomic, openai, cohere (docs/images.md).

    Example: kg admin spaces create small --provider openai --model text-embedding-3-small --dimensions 512

    Example: kg admin spaces create seen --modality image --provider histogram
    """
    from kg_cli.admin.space_views import print_created

    with open_client() as client:
        made = client.add_embedding_space(
            slug, provider=provider, model=model, dimensions=dimensions, modality=modality
        )
    emit(made, print_created, as_json=as_json)


@group.command()
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
    from kg_cli.admin.space_views import print_builds, print_next
    from kg_cli.jobs.waiting import wait_for_jobs

    with open_client() as client:
        made = client.build_space(slug, ontologies=ontology, activate=activate, dry_run=dry_run)
        emit(made, partial(print_builds, dry_run=dry_run), as_json=as_json)
        if watch:
            wait_for_jobs(client, [each.job_id for each in made.builds if each.job_id])
    if not (as_json or dry_run or activate):
        print_next(slug)


@group.command()
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
    from kg_cli.admin.space_views import print_check

    found = report(lambda kg: kg.check_space(slug, ontology), print_check, as_json=as_json)
    if not found.ok:
        raise typer.Exit(NOT_OK)


@group.command()
def health(*, as_json: JsonOption = False) -> None:
    """Check that the model of each space responds; the exit code is 69 when one fails.

    Example: kg admin spaces health
    """
    from kg_cli.admin.space_views import print_health

    found = report(lambda kg: kg.embedding_health(), print_health, as_json=as_json)
    if found.status != "ok":
        raise typer.Exit(UNHEALTHY)


@group.command()
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
    from kg_cli.admin.space_views import print_switched

    with open_client() as client:
        switched = client.activate_space(slug, ontology, accept_refused=accept_refused)
    emit(switched, print_switched, as_json=as_json)


@group.command()
def rollback(
    slug: SpaceArgument, *, ontology: OnlyOntologiesOption = None, as_json: JsonOption = False
) -> None:
    """Roll back to the previously active space, at once; cancel what is being built in this one.

    Example: kg admin spaces rollback small
    """
    from kg_cli.admin.space_views import print_switched

    report(lambda kg: kg.rollback_space(slug, ontology), print_switched, as_json=as_json)


@group.command()
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
    from kg_cli.admin.space_views import print_dropped

    what = f"the space {slug}" if ontology is None else f"what {ontology} does not need in {slug}"
    if not yes:
        confirm(f"Remove {what} for good?")
    report(lambda kg: kg.drop_space(slug, ontology), partial(print_dropped, what=what), as_json=as_json)
