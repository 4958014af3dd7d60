"""For those who keep kg running."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_cli.admin import concepts, sources, spaces
from kg_cli.admin.options import AdminGroup
from kg_cli.admin.regenerate import regenerate

group = typer.Typer(cls=AdminGroup, help="Administer embeddings and their models.", no_args_is_help=True)
group.add_typer(sources.group, name="source-embeddings")
group.add_typer(concepts.group, name="concepts")
group.add_typer(spaces.group, name="spaces")
group.command("regenerate-embeddings")(regenerate)


@group.command()
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
    from kg_api.embed.local.packaged import ensure_model, ensure_packaged
    from kg_api.errors import InvalidInput
    from kg_api.settings import load_settings
    from kg_cli.terminal.console import say

    if model and model not in CATALOGUE:
        raise InvalidInput(f"MODEL: kg has no packaged model {model!r}; choose one of {', '.join(CATALOGUE)}")
    settings = load_settings()
    folder = ensure_packaged(CATALOGUE[model], settings.cache) if model else ensure_model(settings)
    say(f"the model is in {escape(str(folder))}")
