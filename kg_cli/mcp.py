"""`kg mcp`: the MCP server for agents over standard input and output."""

from __future__ import annotations

import sys

from kg_cli.terminal.connect import open_client
from kg_cli.terminal.console import say


def mcp() -> None:
    """Serve an agent by the Model Context Protocol, over standard input and output.

    The agent starts this command (see docs/guides/agents.md). The command calls the service of `kg up` or of
    KG_API_URL. If the service does not answer, each call returns an error with the fix.

    Example: kg mcp
    """
    from kg_api.logs import configure_logs
    from kg_api.mcp.remote import RemoteService
    from kg_api.mcp.server import run_stdio
    from kg_api.settings import load_settings

    configure_logs(load_settings().log)
    if sys.stdin.isatty():
        say("Waiting for an agent's JSON-RPC on standard input; Ctrl-D ends. See docs/guides/agents.md.")
    service = RemoteService(open_client)
    try:
        run_stdio(service.call)
    finally:
        service.close()
