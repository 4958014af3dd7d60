"""`kg admin embedding`: the embedding spaces and their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from kg_api.models.embedding.spaces import Provider, SpaceInfo

UNHEALTHY = 69
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


def register(admin: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Embedding spaces and their models.", no_args_is_help=True)
    group.command("status")(status)
    group.command("health")(health)
    group.command("add")(add)
    admin.add_typer(group, name="embedding")


def status(*, as_json: AsJson = False) -> None:
    """List the embedding spaces: model, dimensions, batch size, and who uses them.

    Example: kg admin embedding status
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table

    with open_client() as client:
        found = client.embedding_spaces()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    rows = [
        [f"{each.slug}\n{each.state}", f"{each.provider}\n{each.model}", _about(each), _uses(each)]
        for each in found.spaces
    ]
    print_table(["space", "model", "what it takes and gives", "ontologies"], rows)


def _uses(space: SpaceInfo) -> str:
    """Whom it answers, for whom it is built, and who can go back to it."""
    told = [
        *space.ontologies,
        *(f"{name} (building)" for name in space.building),
        *(f"{name} (before)" for name in space.retiring),
        *(["(new ones)"] if space.for_new else []),
    ]
    return "\n".join(told) or "-"


def _about(space: SpaceInfo) -> str:
    price = space.price_per_million_tokens
    return (
        f"{space.dimensions} dimensions\n{space.max_tokens} tokens a text\n{space.batch_size} texts at once\n"
        + ("price not known" if price is None else f"${price:g} per 1M tokens" if price else "free")
    )


def health(*, as_json: AsJson = False) -> None:
    """Check that the model of each space responds; the exit code is 69 when one fails.

    Example: kg admin embedding health
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table

    with open_client() as client:
        found = client.embedding_health()
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        rows = [
            [
                each.slug,
                each.status,
                "-" if each.latency_ms is None else f"{each.latency_ms:.0f} ms",
                each.error or "",
            ]
            for each in found.spaces
        ]
        print_table(["space", "status", "latency", "error"], rows)
    if found.status != "ok":
        raise typer.Exit(UNHEALTHY)


def add(
    slug: Annotated[str, typer.Argument(help="Name of the space: lower-case letters, digits and _.")],
    *,
    provider: Annotated[str, typer.Option(help="local, openai, nomic or deterministic.")],
    model: Annotated[
        str | None, typer.Option(help="Name of the model; unset: the provider's default.")
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            help="Dimensions; unset: the model's default. Fewer if the model supports shortened vectors."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an embedding space; the model is probed once, and gets its own index.

    Its key and address come from the environment of service and worker (OPENAI_API_KEY, ...).

    Example: kg admin embedding add small --provider openai --model text-embedding-3-small --dimensions 512
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    with open_client() as client:
        known = cast("Provider", provider)  # the client says which there are
        made = client.add_embedding_space(slug, provider=known, model=model, dimensions=dimensions)
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    say(f"the space {made.slug} is there: {made.provider} {made.model}, {made.dimensions} dimensions")
    say(f"change to it while people search: kg admin spaces build {made.slug} --ontology NAME")
