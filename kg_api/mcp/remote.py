"""Forwards tool calls from `kg mcp` to the service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from mcp_types import CallToolResult, JSONRPCResponse

from kg_api.client import KgClient
from kg_api.client.call import post
from kg_api.errors import KgError, ServiceUnreachable
from kg_api.mcp.server import to_error
from kg_api.mcp.tool import Tool

HEADERS: Final = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


class RemoteService:
    """The service's `/mcp` endpoint. Reconnects after a failed call.

    An agent can start before `kg up`, and keeps working after `kg down` and `kg up` on another port.
    """

    def __init__(self, connect: Callable[[], KgClient]) -> None:
        self._connect = connect
        self._client: KgClient | None = None
        self._changing = threading.Lock()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def call(self, tool: Tool[Any], arguments: dict[str, Any]) -> CallToolResult:
        """Forward a call. Errors become results."""
        params = {"name": tool.name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        client = None
        try:
            with self._changing:
                client = self._client = self._client or self._connect()
            request = post(JSONRPCResponse, "mcp", json=body, headers=HEADERS)
            answer = client._send(request)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            return CallToolResult.model_validate(answer.result)
        except KgError as error:
            if isinstance(error, ServiceUnreachable):
                with self._changing:
                    if self._client is client:
                        self._client = None
            return to_error(str(error))
