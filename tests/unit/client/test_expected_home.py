from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.client.connection import ClientAuth, ExpectedHome
from kg_api.errors import ServiceUnreachable
from kg_api.web.middleware import RequestLog
from tests.support.asgi import send

OURS, OTHER = "a" * 32, "b" * 32
EXPECTED = ExpectedHome(OURS, lambda: "the kg of the home /other (pid 7) has the port")


class Recorder:
    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.received.append((request.method, await request.body()))
        await Response("{}")(scope, receive, send)


def with_client(app: ASGIApp, work: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        auth = ClientAuth(None, EXPECTED)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://kg/kg", auth=auth
        ) as kg:
            return await work(kg)

    return asyncio.run(run())


def test_service_of_expected_home_gets_every_request() -> None:
    recorder = Recorder()

    async def work(kg: httpx.AsyncClient) -> None:
        for _ in range(2):
            await kg.post("/documents", content=b"text")

    with_client(RequestLog(recorder, lambda: OURS), work)
    assert recorder.received == [("HEAD", b""), ("POST", b"text"), ("POST", b"text")]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("instance", [OTHER, None])
def test_service_of_other_home_rejects_request(method: str, instance: str | None) -> None:
    recorder = Recorder()
    app = RequestLog(recorder, lambda: instance)
    with pytest.raises(ServiceUnreachable, match=r"/other \(pid 7\)"):
        with_client(app, lambda kg: kg.request(method, "/documents", content=b"text"))
    assert recorder.received == []


def test_program_without_home_gets_no_data() -> None:
    recorder = Recorder()
    with pytest.raises(ServiceUnreachable):
        with_client(recorder, lambda kg: kg.post("/documents", content=b"text"))
    assert recorder.received == [("HEAD", b"")]


def test_service_that_changes_between_requests_rejects_second() -> None:
    recorder, instances = Recorder(), [OURS, OURS, OTHER]

    async def work(kg: httpx.AsyncClient) -> None:
        await kg.post("/documents", content=b"first")
        await kg.post("/documents", content=b"second")

    with pytest.raises(ServiceUnreachable):
        with_client(RequestLog(recorder, lambda: instances.pop(0)), work)
    assert [body for _, body in recorder.received] == [b"", b"first"]


def test_request_without_expectation_is_answered() -> None:
    answer = send(RequestLog(Recorder(), lambda: OTHER), "POST", "/documents", content=b"text")
    assert answer.status_code == 200
