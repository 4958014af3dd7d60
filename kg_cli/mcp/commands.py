"""Serving agents."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from kg_cli.terminal.connect import open_client

if TYPE_CHECKING:
    from kg_api.mcp.library import Library
    from kg_api.settings import Settings


def mcp(
    *,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Open the database and the model in this process, without a kg service."
        ),
    ] = False,
) -> None:
    """Serve an agent by the Model Context Protocol, over standard input and output.

    The agent starts it; docs/mcp.md says how. It asks the service of `kg up`, or the one of KG_API_URL. While
    that does not answer, each call says so and what to do.

    Example: kg mcp
    """
    from kg_api.logs import configure_logs
    from kg_api.mcp.server import run_stdio
    from kg_api.settings import load_settings
    from kg_cli.terminal.console import say

    settings = load_settings()
    configure_logs(settings.log)
    if sys.stdin.isatty():
        say(
            "Waiting for an agent's JSON-RPC on standard input; Ctrl-D ends. docs/mcp.md says how to connect."
        )
    library, close = _in_process(settings) if in_process else _of_service()
    try:
        run_stdio(library)
    finally:
        close()


def _in_process(settings: Settings) -> tuple[Library, Callable[[], None]]:
    from kg_api.mcp.server import ContainerLibrary, LazyContainer

    container = LazyContainer(settings)
    return ContainerLibrary(container.get), container.close


def _of_service() -> tuple[Library, Callable[[], None]]:
    from kg_cli.mcp.library import ClientLibrary

    library = ClientLibrary(open_client)
    return library, library.close
