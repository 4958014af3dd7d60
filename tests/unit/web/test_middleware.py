"""What happens to every request, with small apps behind it and no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.testing import capture_logs

from kg_api.web.middleware import RequestLog
from kg_api.web.shared.limits import BodyLimit

LIMIT = 1000


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Give the size of the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


async def broken(*_: object) -> None:
    """Have a bug."""
    raise ZeroDivisionError("SECRET")


async def ended(*_: object) -> None:
    """Be cancelled, as requests are when a service ends and its time of grace is over."""
    raise asyncio.CancelledError


async def broken_late(scope: Scope, receive: Receive, send: Send) -> None:
    """Have a bug when the answer has begun."""

    async def parts() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ZeroDivisionError("SECRET")

    await StreamingResponse(parts())(scope, receive, send)


async def leaving(*_: object) -> None:
    """Notice that the client went away."""
    raise ClientDisconnect


def ask(app: ASGIApp, content: bytes | AsyncIterator[bytes] = b"", **headers: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://kg") as client:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.post("/x", content=content, headers=names)

    return asyncio.run(asked())


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size


def limited(app: ASGIApp) -> ASGIApp:
    return RequestLog(BodyLimit(app, lambda _: LIMIT, 10**9))


@pytest.mark.parametrize("sizes", [(LIMIT,), (LIMIT - 1, 1), (0, 0), ()])
def test_a_body_up_to_the_limit_is_let_through(sizes: tuple[int, ...]) -> None:
    assert ask(limited(echo), b"x" * sum(sizes)).text == str(sum(sizes))
    assert ask(limited(echo), pieces(*sizes)).text == str(sum(sizes))


@pytest.mark.parametrize("sizes", [(LIMIT + 1,), (LIMIT, 1), (1,) * (LIMIT + 1)])
def test_a_body_over_the_limit_is_refused_announced_or_not(sizes: tuple[int, ...]) -> None:
    for content in (b"x" * sum(sizes), pieces(*sizes)):
        response = ask(limited(echo), content)
        assert response.status_code == 413
        assert response.json()["type"] == "urn:kg:too-large"
        assert "1,000 bytes" in response.json()["detail"]


@pytest.mark.parametrize("length", ["-1", "1.5", "ten", "9" * 5000, "٣" * 30])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    sent: list[Message] = []

    async def asked() -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"content-length", length.encode("latin-1", "replace"))]
        await limited(echo)(
            {"type": "http", "method": "POST", "path": "/x", "headers": headers}, receive, send
        )

    asyncio.run(asked())
    assert sent[0]["status"] == 413


def test_a_bug_is_answered_with_an_id_and_gives_nothing_away() -> None:
    with capture_logs() as logs:
        response = ask(limited(broken), x_request_id="my-id")
    assert response.status_code == 500
    assert response.headers["x-request-id"] == "my-id"
    assert response.headers["content-type"] == "application/problem+json"
    assert "SECRET" not in response.text
    assert "ZeroDivisionError" not in response.text
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("unexpected error", "error"),
        ("request", "info"),
    ]
    assert logs[1]["status"] == 500


def test_a_bug_in_the_middle_of_an_answer_ends_the_connection() -> None:
    with capture_logs() as logs, pytest.raises(ZeroDivisionError):
        ask(limited(broken_late))
    assert "unexpected error" in [line["event"] for line in logs]


def test_a_request_that_the_end_of_the_service_cuts_off_is_to_be_repeated() -> None:
    response = ask(limited(ended))
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) >= 1
    assert "the service ends" in response.json()["detail"]


def test_a_client_that_went_away_is_no_bug() -> None:
    with capture_logs() as logs, pytest.raises(AssertionError):  # httpx's own: there was no answer
        ask(limited(leaving))
    assert [line["event"] for line in logs] == ["client went away", "request"]


def test_health_is_logged_quietly() -> None:
    def level(path: str) -> str:
        async def asked() -> None:
            transport = httpx.ASGITransport(limited(echo))
            async with httpx.AsyncClient(transport=transport, base_url="http://kg") as client:
                await client.get(path)

        with capture_logs() as logs:
            asyncio.run(asked())
        return logs[0]["log_level"]

    assert [level(path) for path in ("/health", "/ready", "/jobs")] == ["debug", "debug", "info"]


def test_a_path_in_the_log_is_cut_and_cannot_begin_a_line_of_its_own() -> None:
    async def asked() -> None:
        transport = httpx.ASGITransport(limited(echo))
        async with httpx.AsyncClient(transport=transport, base_url="http://kg") as client:
            await client.get("/a%0Aevent=forged" + "x" * 2000)

    with capture_logs() as logs:
        asyncio.run(asked())
    assert len(logs[0]["path"]) == 500
    assert "\n" not in json.dumps(logs[0])


def test_large_bodies_are_held_to_a_sum_and_let_go() -> None:
    mib = 1024 * 1024
    app = RequestLog(BodyLimit(echo, lambda _: 10 * mib, together=2 * mib))
    for _ in range(2):
        assert ask(app, pieces(*[mib] * 3)).text == str(3 * mib)
        response = ask(app, pieces(*[mib] * 5))
        assert (response.status_code, response.headers["retry-after"]) == (429, "5")


MIB = 1024 * 1024


class Crowd:
    """Clients of one app with room for 4 MiB of large bodies, and a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.app = BodyLimit(self._keep, lambda _: 10 * MIB, together=4 * MIB, clock=lambda: self.now)
        self.working = asyncio.Event()
        self.working.set()

    async def _keep(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Work for a while with a body that is there; listen, meanwhile, whether its client goes away."""
        body = await Request(scope, receive).body()
        listening = asyncio.create_task(receive())  # pyright: ignore[reportArgumentType]
        await self.working.wait()
        listening.cancel()
        await PlainTextResponse(str(len(body)))(scope, receive, send)


class Client:
    """Sends a body by and by."""

    def __init__(self, crowd: Crowd) -> None:
        self._parts: asyncio.Queue[Message] = asyncio.Queue()
        self.status = 0
        self.told = b""
        scope = {"type": "http", "method": "POST", "path": "/x", "headers": []}
        self.task = asyncio.create_task(crowd.app(scope, self._parts.get, self._take))

    async def _take(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.told += message.get("body", b"")

    async def send(self, size: int, *, more: bool = True) -> int:
        """Send a part and let all have their turn; give the status that it has been answered with."""
        self._parts.put_nowait({"type": "http.request", "body": b"x" * size, "more_body": more})
        await turns()
        return self.status


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_large_bodies_that_came_quickly_and_then_trickle_make_room() -> None:
    async def asked() -> None:
        crowd = Crowd()
        slow = Client(crowd), Client(crowd)
        for each in slow:
            await each.send(2 * MIB - 100_000)
        for _ in range(25):
            for each in slow:
                await each.send(500)
            crowd.now += 1
        assert await Client(crowd).send(3 * MIB, more=False) == 200
        assert [each.status for each in slow] == [408, 408]
        assert b"faster connection" in slow[0].told

    asyncio.run(asked())


def test_no_more_go_than_it_takes_and_the_slowest_first() -> None:
    async def asked() -> None:
        crowd = Crowd()
        first, second = Client(crowd), Client(crowd)
        await first.send(2 * MIB)
        crowd.now += 5
        await second.send(2 * MIB)
        crowd.now += 30
        assert await Client(crowd).send(2 * MIB, more=False) == 200
        assert (first.status, second.status) == (408, 0)
        assert await second.send(1, more=False) == 200

    asyncio.run(asked())


def test_a_large_body_that_moves_keeps_its_room() -> None:
    async def asked() -> None:
        crowd = Crowd()
        steady = Client(crowd)
        await steady.send(2 * MIB)
        for _ in range(5):
            crowd.now += 4
            await steady.send(4 * 64 * 1024)
        busy = Client(crowd)
        assert await busy.send(3 * MIB) == 429
        assert b"too many large requests are in progress" in busy.told
        assert await steady.send(1, more=False) == 200

    asyncio.run(asked())


def test_a_slow_body_stays_while_nobody_needs_its_room() -> None:
    async def asked() -> None:
        crowd = Crowd()
        slow = Client(crowd)
        await slow.send(2 * MIB)
        crowd.now += 1000
        assert await Client(crowd).send(2 * MIB, more=False) == 200
        assert await slow.send(1, more=False) == 200

    asyncio.run(asked())


def test_a_body_that_is_there_is_never_given_up() -> None:
    async def asked() -> None:
        crowd = Crowd()
        crowd.working.clear()
        whole = Client(crowd)
        await whole.send(3 * MIB, more=False)
        crowd.now += 1000
        assert await Client(crowd).send(3 * MIB, more=False) == 429
        crowd.working.set()
        await turns()
        assert whole.status == 200

    asyncio.run(asked())
