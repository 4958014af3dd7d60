import asyncio
import json
from functools import cache
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from kg_api.settings import load_settings
from kg_api.web.app import create_app
from kg_api.web.mcp_mount import McpMount
from kg_api.web.shared.limits import MAX_DEPTH, MAX_VALUES

USUAL = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@cache
def build_app() -> FastAPI:
    return create_app(load_settings(), lambda _: None)


def post(body: bytes, path: str = "/mcp", headers: dict[str, str] = USUAL) -> httpx.Response:
    async def asked() -> httpx.Response:
        app = build_app()
        (mount,) = {
            each.app for each in app.routes if isinstance(each, Route) and isinstance(each.app, McpMount)
        }
        transport = httpx.ASGITransport(app)
        async with mount.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as to:
            del to.headers["accept"]
            return await to.post(path, content=body, headers=headers)

    return asyncio.run(asked())


def call(**more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"} | more).encode()


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"[" * (MAX_DEPTH + 1), 400, "is nested too deeply"),
        (call(params=[0] * MAX_VALUES), 413, "values. Send them in parts"),
        (b"[" + b"[]," * MAX_VALUES, 413, "values. Send them in parts"),
    ],
    ids=["deep", "many in a call", "many lists"],
)
def test_body_over_limits_never_reaches_the_sdk(
    body: bytes, status: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(*_: object) -> None:
        raise AssertionError("the SDK saw it")

    monkeypatch.setattr(StreamableHTTPSessionManager, "handle_request", handle)
    response = post(body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, -32700)
    assert told in error["message"]


@pytest.mark.parametrize(
    "params", [{}, {"_meta": {"note": "x" * 100_000}}], ids=["short", "read in a thread"]
)
def test_an_ordinary_call_is_answered(params: dict[str, Any]) -> None:
    response = post(call(params=params))
    assert response.status_code == 200
    assert "hybrid_search" in {tool["name"] for tool in response.json()["result"]["tools"]}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize(
    "accept", [None, "", "*/*", "application/json", "application/*", "text/html, */*;q=.8"]
)
def test_any_accept_header_and_a_slash_will_do(path: str, accept: str | None) -> None:
    given = {} if accept is None else {"Accept": accept}
    response = post(call(), path, {"Content-Type": "application/json", **given})
    assert response.status_code == 200, response.text
    assert response.json()["result"]["tools"]


def test_sdk_receives_the_client_disconnect(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Message] = []

    async def handle(_: object, _scope: Scope, receive: Receive, _send: Send) -> None:
        seen.extend([await receive(), await receive()])

    monkeypatch.setattr(StreamableHTTPSessionManager, "handle_request", handle)
    parts: list[Message] = [
        {"type": "http.request", "body": b"[", "more_body": True},
        {"type": "http.request", "body": b"]", "more_body": False},
        {"type": "http.disconnect"},
    ]

    async def asked() -> None:
        async def receive() -> Message:
            return parts.pop(0)

        async def send(_: Message) -> None:
            pass

        mount = McpMount(build_app().state.opening, load_settings().api)
        async with mount.running():
            await mount({"type": "http", "method": "POST", "path": "/mcp", "headers": []}, receive, send)

    asyncio.run(asked())
    assert seen == [{"type": "http.request", "body": b"[]", "more_body": False}, {"type": "http.disconnect"}]
