"""Sending calls: what the areas of both clients stand on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from httpx_sse import SSEError, aconnect_sse, connect_sse
from pydantic import BaseModel

from kg_api.client import connection
from kg_api.client.answers import not_kg, parse_problem, parse_reply, read
from kg_api.client.call import Call

T = TypeVar("T", bound=BaseModel)

DEFAULT_TIMEOUT_SECONDS = 60.0
SILENCE = 45.0
"""Seconds without a sign after which a stream counts as broken; the service gives one every ten."""


class Sending:
    """Connections to a kg service, synchronous."""

    def __init__(
        self, base_url: str, *, api_key: str | None = None, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        self._http = httpx.Client(**connection.options(base_url, api_key, timeout_seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, call: Call[T]) -> T:
        try:
            response = self._http.request(call.method, call.path, **_parts(call))
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error
        return read(call, response)

    def _follow(self, call: Call[T], silence: float = SILENCE) -> Generator[T]:
        """Each event's data, until the service ends the stream.

        Raises:
            KgError: as `_send`; ServiceUnreachable also when the stream breaks.
        """
        try:
            with connect_sse(
                self._http, call.method, call.path, params=call.params, json=call.json, timeout=silence
            ) as source:
                if not source.response.is_success:
                    source.response.read()
                    read(call, source.response)
                for event in source.iter_sse():
                    if event.event == "error":
                        raise parse_problem(event.data)
                    yield parse_reply(call, event.data, source.response.url)
        except SSEError:
            raise not_kg(self._http.base_url) from None
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error


class AsyncSending:
    """Connections to a kg service, asynchronous."""

    def __init__(
        self, base_url: str, *, api_key: str | None = None, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        self._http = httpx.AsyncClient(**connection.options(base_url, api_key, timeout_seconds))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, call: Call[T]) -> T:
        try:
            response = await self._http.request(call.method, call.path, **_parts(call))
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error
        return read(call, response)

    async def _follow(self, call: Call[T], silence: float = SILENCE) -> AsyncGenerator[T]:
        """Each event's data, until the service ends the stream; raises as the synchronous one."""
        parts = {"params": call.params, "json": call.json, "timeout": silence}
        try:
            async with aconnect_sse(self._http, call.method, call.path, **parts) as source:
                if not source.response.is_success:
                    await source.response.aread()
                    read(call, source.response)
                async for event in source.aiter_sse():
                    if event.event == "error":
                        raise parse_problem(event.data)
                    yield parse_reply(call, event.data, source.response.url)
        except SSEError:
            raise not_kg(self._http.base_url) from None
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error


def _parts(call: Call[Any]) -> dict[str, Any]:
    return {
        "params": call.params,
        "json": call.json,
        "data": call.data,
        "files": call.files,
        "headers": call.headers,
    }
