"""HTTP connections for both clients, and decorators to send request descriptions."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import wraps
from types import MethodType, TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import httpx
from httpx_sse import SSEError, aconnect_sse, connect_sse

from kg_api.client import connection
from kg_api.client.answers import parse_problem, parse_reply, read, read_last, report_foreign_server
from kg_api.client.call import Call, Events

T = TypeVar("T")
P = ParamSpec("P")


class Sending:
    """Synchronous connection to a kg service."""

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
        self._http.close()

    def _send(self, call: Call[T]) -> T:
        if call.events is not None:
            last = None
            for event in self._follow(call.events.call, call.events.silence):
                last = call.events.convert(event)
            return read_last(call, last)
        try:
            response = self._http.request(call.method, call.path, **connection.parts(self._http, call))
        except httpx.RequestError as error:
            raise connection.report_unreachable(self._http.base_url, error) from error
        return read(call, response)

    def _follow(self, call: Call[T], silence: float) -> Generator[T]:
        """Yield data from each event, until the service ends the stream."""
        body = {"params": call.params, "json": call.json, "headers": connection.traced(call.headers)}
        try:
            with connect_sse(self._http, call.method, call.path, **body, timeout=silence) as source:
                if not source.response.is_success:
                    source.response.read()
                    read(call, source.response)
                for event in source.iter_sse():
                    if event.event == "error":
                        raise parse_problem(event.data)
                    yield parse_reply(call, event.data, source.response.url)
        except SSEError:
            raise report_foreign_server(self._http.base_url) from None
        except httpx.RequestError as error:
            raise connection.report_unreachable(self._http.base_url, error) from error


class AsyncSending:
    """Asynchronous connection to a kg service."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: connection.KeySource = None,
        timeout_seconds: float = connection.DEFAULT_TIMEOUT_SECONDS,
        expected_home: connection.ExpectedHome | None = None,
    ) -> None:
        options = connection.options(base_url, api_key, timeout_seconds, expected_home)
        self._http = httpx.AsyncClient(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(self, call: Call[T]) -> T:
        if call.events is not None:
            last = None
            async for event in self._follow(call.events.call, call.events.silence):
                last = call.events.convert(event)
            return read_last(call, last)
        try:
            response = await self._http.request(call.method, call.path, **connection.parts(self._http, call))
        except httpx.RequestError as error:
            raise connection.report_unreachable(self._http.base_url, error) from error
        return read(call, response)

    async def _follow(self, call: Call[T], silence: float) -> AsyncGenerator[T]:
        body = {"params": call.params, "json": call.json, "headers": connection.traced(call.headers)}
        try:
            async with aconnect_sse(self._http, call.method, call.path, **body, timeout=silence) as source:
                if not source.response.is_success:
                    await source.response.aread()
                    read(call, source.response)
                async for event in source.aiter_sse():
                    if event.event == "error":
                        raise parse_problem(event.data)
                    yield parse_reply(call, event.data, source.response.url)
        except SSEError:
            raise report_foreign_server(self._http.base_url) from None
        except httpx.RequestError as error:
            raise connection.report_unreachable(self._http.base_url, error) from error


class request(Generic[P, T]):  # noqa: N801 - a decorator
    """Turns a request description into a method to send it. In `AsyncKgClient`, this is a coroutine."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        @wraps(describe)
        def send(client: Sending, *args: P.args, **options: P.kwargs) -> T:
            return client._send(describe(client, *args, **options))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

        @wraps(describe)
        async def send_async(client: AsyncSending, *args: P.args, **options: P.kwargs) -> T:
            return await client._send(describe(client, *args, **options))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

        self._send, self._send_async = send, send_async

    @overload
    def __get__(self, client: Sending, owner: type | None = None) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncSending, owner: type | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    def __get__(self, client: object, owner: type | None = None) -> Callable[..., Any]:
        return _bind(self._send, self._send_async, client, owner)


class stream(Generic[P, T]):  # noqa: N801 - a decorator
    """Turns an event description into a method to yield them, until the last."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Events[T]]) -> None:
        @wraps(describe)
        def follow(client: Sending, *args: P.args, **options: P.kwargs) -> Generator[T]:
            events = describe(client, *args, **options)
            for event in client._follow(events.call, events.silence):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
                made = events.convert(event)
                yield made
                if events.is_last(made):
                    return

        @wraps(describe)
        async def follow_async(client: AsyncSending, *args: P.args, **options: P.kwargs) -> AsyncGenerator[T]:
            events = describe(client, *args, **options)
            async for event in client._follow(events.call, events.silence):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
                made = events.convert(event)
                yield made
                if events.is_last(made):
                    return

        self._follow, self._follow_async = follow, follow_async

    @overload
    def __get__(self, client: Sending, owner: type | None = None) -> Callable[P, Generator[T]]: ...
    @overload
    def __get__(self, client: AsyncSending, owner: type | None = None) -> Callable[P, AsyncGenerator[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    def __get__(self, client: object, owner: type | None = None) -> Callable[..., Any]:
        return _bind(self._follow, self._follow_async, client, owner)


def _bind(
    method: Callable[..., Any], method_async: Callable[..., Any], client: object, owner: type | None
) -> Callable[..., Any]:
    chosen = method_async if issubclass(owner or type(client), AsyncSending) else method
    if client is not None:
        return MethodType(chosen, client)
    # `help` shows the return type, not the type of the description
    told = inspect.signature(chosen, follow_wrapped=True)
    answer = str(told.return_annotation).removesuffix("]")
    answer = answer.removeprefix("Call[")
    if answer.startswith("Events["):
        kind = "AsyncGenerator" if chosen is method_async else "Generator"
        answer = f"{kind}[{answer.removeprefix('Events[')}]"
    vars(chosen)["__signature__"] = told.replace(return_annotation=answer)
    return chosen
