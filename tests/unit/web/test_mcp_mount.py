from __future__ import annotations

import asyncio

import pytest
from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.requests import Request

from kg_api.web.mcp_mount import security
from tests.unit.web.test_origin import ask

HOSTS = [
    "127.0.0.1:8420",
    "127.0.0.1",
    "localhost:8420",
    "localhost",
    "[::1]:8420",
    "kg.example",
    "evil.example",
]
ORIGINS = [
    None,
    "http://localhost:3000",
    "http://127.0.0.1:1",
    "https://[::1]:2",
    "https://evil.example",
    "null",
]


def ask_the_sdk(listening: str, host: str, origin: str | None) -> int:
    headers = {"host": host, "content-type": "application/json"} | ({"origin": origin} if origin else {})
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "path": "/mcp", "headers": raw})
    check = TransportSecurityMiddleware(security(listening))
    refusal = asyncio.run(check.validate_request(request, is_post=True))
    return 200 if refusal is None else refusal.status_code


@pytest.mark.parametrize("listening", ["127.0.0.1", "localhost", "::1"])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_both_checks_of_host_and_origin_agree(listening: str, host: str, origin: str | None) -> None:
    assert ask_the_sdk(listening, host, origin) == asyncio.run(ask(listening, host, origin))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_beyond_this_machine_the_middleware_decides(host: str, origin: str | None) -> None:
    assert ask_the_sdk("0.0.0.0", host, origin) == 200
