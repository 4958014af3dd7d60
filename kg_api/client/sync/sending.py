# Written by scripts/unasync.py from ../asynchronous/sending.py; change that, not this.
"""Sending calls: what the methods of the sync client stand on."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_sse import SSEError, connect_sse
from pydantic import BaseModel

from kg_api.client.transport import connection
from kg_api.client.transport.answers import check_file, not_kg, parse_problem, parse_reply, read
from kg_api.client.transport.call import Call

T = TypeVar("T", bound=BaseModel)


class Sending:
    """Connections to a kg service."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: connection.KeySource = None,
        timeout_seconds: float = connection.DEFAULT_TIMEOUT_SECONDS,
        expected_home: connection.ExpectedHome | None = None,
    ) -> None:
        options = connection.options(base_url, api_key, timeout_seconds, expected_home)
        self._http = httpx.Client(**options)

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
            patience = connection.patience(self._http.timeout, call)
            parts = {**call.parts, "headers": connection.traced(call.headers)}
            response = self._http.request(call.method, call.path, **parts, **patience)
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error
        return read(call, response)

    def _read_file(self, call: Call[T]) -> bytes:
        """The answer as it is, for it is no JSON."""
        return (self._fetch(call)).content

    def _fetch(self, call: Call[T]) -> httpx.Response:
        """An answer that is a file, with its headers."""
        try:
            patience = connection.patience(self._http.timeout, call)
            parts = {"params": call.params, "headers": connection.traced(call.headers)}
            response = self._http.request(call.method, call.path, **parts, **patience)
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error
        return check_file(response)

    def _follow(self, call: Call[T], silence: float = connection.MAX_SILENCE_SECONDS) -> Generator[T]:
        """Each event's data, until the service ends the stream.

        Raises:
            KgError: as `_send`; ServiceUnreachable also when the stream breaks.
        """
        try:
            body = {"params": call.params, "json": call.json, "headers": connection.traced(call.headers)}
            with connect_sse(self._http, call.method, call.path, **body, timeout=silence) as source:
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
