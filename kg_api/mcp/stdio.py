"""The server over standard input and output, as agents start it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import redirect_stdout, suppress
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from kg_api.mcp.library import Library
from kg_api.mcp.server import make_server

INTERRUPTED = 130


def run_stdio(library: Library) -> None:
    """Serve one client until its end of standard input closes.

    Nothing but protocol leaves by standard output: the SDK takes the descriptor for itself and points number
    1 at standard error; what Python code prints goes there too, or it would be written when all is over.
    """
    before = signal.signal(signal.SIGINT, _end)
    try:
        anyio.run(_serve, make_server(library))
    finally:
        signal.signal(signal.SIGINT, before)


def _end(*_: object) -> None:
    """End at once: a thread of the SDK waits in a read of standard input, and nothing else would wake it."""
    os._exit(INTERRUPTED)


async def _serve(server: Server[Any]) -> None:
    onward, good = anyio.create_memory_object_stream[SessionMessage | Exception]()
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:

        async def refuse_malformed() -> None:
            """The SDK drops such a line without a word, and its sender would wait for an answer."""
            async with onward:
                async for each in incoming:
                    if isinstance(each, Exception):
                        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                            await outgoing.send(SessionMessage(_refusal(each)))
                    else:
                        await onward.send(each)

        with redirect_stdout(sys.stderr):
            tasks.start_soon(refuse_malformed)
            await server.run(good, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def _refusal(error: Exception) -> JSONRPCError:
    broken = not isinstance(error, ValidationError) or error.errors()[0]["type"] == "json_invalid"
    code, message = (
        (PARSE_ERROR, "the line is not JSON") if broken else (INVALID_REQUEST, "no JSON-RPC message")
    )
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
