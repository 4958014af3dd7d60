import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


def send(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    base_url: str = "http://kg",
    peer: str = "127.0.0.1",
    **options: Any,
) -> httpx.Response:
    """Send one request to an application in this process."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(peer, 1))
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())
