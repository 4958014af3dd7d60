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
from kg_api.web.shared.limits import allowed_hosts, read_bounded
from kg_api.web.shared.opening import Opening

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


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
            security_settings=security(self._settings),
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


def security(settings: ApiSettings) -> TransportSecuritySettings:
    """The SDK's own check of Host and Origin, behind OriginCheck: it never refuses what that lets through.

    Its lists cannot say "the Origin is the Host", so that a page of any port passes here.
    """
    known = {*LOOPBACK, *(f"[{name}]" if ":" in name else name for name in allowed_hosts(settings))}
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in sorted(known)]
    return TransportSecuritySettings(
        allowed_hosts=[each for name in sorted(known) for each in (name, f"{name}:*")],
        allowed_origins=[
            *settings.allowed_web_pages,
            *(each for origin in origins for each in (origin, f"{origin}:*")),
        ],
    )
