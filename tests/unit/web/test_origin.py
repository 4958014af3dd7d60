from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from kg_api.web.origin import OriginCheck


async def ask(listening: str, host: str, origin: str | None) -> int:
    inner = Starlette(routes=[Route("/", lambda _: PlainTextResponse("ok"))])
    transport = httpx.ASGITransport(OriginCheck(inner, listening))
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return (await client.get("/", headers=headers)).status_code


@pytest.mark.parametrize(
    ("listening", "host", "origin", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8420", None, 200),
        ("127.0.0.1", "localhost:8420", None, 200),
        ("127.0.0.1", "[::1]:8420", None, 200),
        ("127.0.0.1", "localhost:8420", "http://localhost:3000", 200),
        ("127.0.0.1", "evil.example", None, 421),
        ("127.0.0.1", "127.0.0.1.evil.example", None, 421),
        ("127.0.0.1", "localhost:8420", "https://evil.example", 403),
        ("127.0.0.1", "localhost:8420", "null", 403),
        ("0.0.0.0", "kg.example", None, 200),
        ("0.0.0.0", "kg.example", "https://kg.example", 200),
        ("0.0.0.0", "kg.example", "https://evil.example", 403),
    ],
)
def test_only_those_who_belong_here_are_answered(
    listening: str, host: str, origin: str | None, status: int
) -> None:

    assert asyncio.run(ask(listening, host, origin)) == status
