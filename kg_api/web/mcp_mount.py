"""The MCP server at /mcp, over streamable HTTP: one request, one answer; no sessions are kept.

The present protocol has none, and clients of the one before are served each request by itself, so nothing
grows with the number of clients. There is nothing to listen to: GET is refused, as the protocol allows.
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
from kg_api.web.shared.opening import Opening

PATH = "/mcp"


class McpMount:
    """Answers at /mcp while `running`."""

    def __init__(self, opening: Opening, settings: ApiSettings) -> None:
        self._library = Library(opening.container)
        self._settings = settings
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self._manager = StreamableHTTPSessionManager(
            make_server(self._library.call),
            json_response=True,
            stateless=True,
            # OriginCheck has looked at Host and Origin of every request, more strictly than the SDK can
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=self._settings.max_request_bytes,
        )
        async with self._manager.run():
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise HTTPException(405, "MCP is spoken here by POST", headers={"Allow": "POST"})
        if self._manager is None:
            raise Unavailable("not ready yet: the service is starting or ending")
        try:
            body = await read_bounded(Request(scope, receive))  # the SDK would parse it unbounded
        except HTTPException as error:
            await _unread(error)(scope, receive, send)
            return
        await self._manager.handle_request(_accepting(scope), _replay(body, receive), send)


def _accepting(scope: Scope) -> Scope:
    """The request with an Accept header: without one anything is accepted, which the SDK does not know."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if any(name == b"accept" and value.strip() for name, value in headers):
        return scope
    others = [(name, value) for name, value in headers if name != b"accept"]
    return {**scope, "headers": [*others, (b"accept", b"*/*")]}


def _unread(error: HTTPException) -> JSONResponse:
    """The protocol's own answer to a body that is not read."""
    told = {"code": PARSE_ERROR, "message": str(error.detail)}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, error.status_code)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already, then whatever comes next, such as that the client goes away."""
    ahead: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return ahead.pop() if ahead else await receive()

    return receiving
