from __future__ import annotations

import asyncio

import pytest
from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.requests import Request

from kg_api.settings import ApiSettings
from kg_api.web.mcp_mount import security
from tests.unit.web.test_origin import ask, settings

HOSTS = [
    "127.0.0.1:8420",
    "127.0.0.1",
    "localhost:8420",
    "localhost",
    "[::1]:8420",
    "kg.example",
    "kg.example:8420",
    "evil.example",
]
ORIGINS = [
    None,
    "http://localhost:8420",
    "http://localhost",
    "https://[::1]:8420",
    "https://app.example",
    "https://kg.example",
    "https://evil.example",
    "null",
]
GIVEN = [
    *(settings(listening, pages="https://app.example") for listening in ("127.0.0.1", "localhost", "::1")),
    settings("0.0.0.0", "kg.example,10.0.0.7"),
]


def ask_the_sdk(given: ApiSettings, host: str, origin: str | None) -> int:
    headers = {"host": host, "content-type": "application/json"} | ({"origin": origin} if origin else {})
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "path": "/mcp", "headers": raw})
    check = TransportSecurityMiddleware(security(given))
    refusal = asyncio.run(check.validate_request(request, is_post=True))
    return 200 if refusal is None else refusal.status_code


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: given.host)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_the_sdk_refuses_nothing_that_we_let_through(
    given: ApiSettings, host: str, origin: str | None
) -> None:
    ours = asyncio.run(ask(given, host, **({"Origin": origin} if origin else {})))
    theirs = ask_the_sdk(given, host, origin)
    assert theirs in {200, ours}


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: given.host)
def test_the_sdk_knows_other_names_and_pages_too(given: ApiSettings) -> None:
    assert ask_the_sdk(given, "evil.example", None) == 421
    assert ask_the_sdk(given, "localhost", "https://evil.example") == 403
