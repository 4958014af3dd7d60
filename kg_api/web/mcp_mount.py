"""MCP server at /mcp over streamable HTTP, without sessions.

The current protocol has no sessions, and kg handles each request of older clients separately. So memory does
not grow with the number of clients. kg rejects GET, which the protocol allows.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import PARSE_ERROR
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from kg_api.errors import Unavailable
from kg_api.mcp.library import Library
from kg_api.mcp.server import make_server
from kg_api.settings import ApiSettings
from kg_api.web.shared.limits import read_bounded
from kg_api.web.shared.opening import StartUp

PATH = "/mcp"


class McpMount:
    """ASGI application at /mcp. It responds only inside the context `running`."""

    def __init__(self, opening: StartUp, settings: ApiSettings) -> None:
        self._library = Library(opening.container)
        self._settings = settings
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self._manager = StreamableHTTPSessionManager(
            make_server(self._library.call),
            json_response=True,
            stateless=True,
            # OriginCheck has already checked Host and Origin, more strictly than the SDK
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=self._settings.max_request_bytes,
        )
        async with self._manager.run():
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise HTTPException(405, "the MCP endpoint accepts only POST", headers={"Allow": "POST"})
        if self._manager is None:
            raise Unavailable("not ready: the service is starting or stopping")
        try:
            body = await read_bounded(Request(scope, receive))  # the SDK would parse the body without limits
        except HTTPException as error:
            await _build_read_error(error)(scope, receive, send)
            return
        await self._manager.handle_request(_add_accept_header(scope), _replay(body, receive), send)


def _add_accept_header(scope: Scope) -> Scope:
    """Add an Accept header if the request has none. Only the SDK requires it."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if any(name == b"accept" and value.strip() for name, value in headers):
        return scope
    other_headers = [(name, value) for name, value in headers if name != b"accept"]
    return {**scope, "headers": [*other_headers, (b"accept", b"*/*")]}


def _build_read_error(error: HTTPException) -> JSONResponse:
    """Build the JSON-RPC error for a body that cannot be read."""
    parse_error = {"code": PARSE_ERROR, "message": str(error.detail)}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": parse_error}, error.status_code)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns the body again, and then later messages such as a disconnect."""
    replayed: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_replayed() -> Message:
        return replayed.pop() if replayed else await receive()

    return receive_replayed
