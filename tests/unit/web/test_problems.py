import asyncio
import json
import re
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.testing import capture_logs

from kg_api.errors import ConfigurationError, Conflict, KgError, Unavailable
from kg_api.graph.schema import IndexState
from kg_api.graph.search import TEXT_INDEX
from kg_api.schemas.documents import Message as DocumentMessage
from kg_api.schemas.operations import Check, Readiness
from kg_api.web.api.operations import Since
from kg_api.web.middleware import RequestLog
from kg_api.web.shared import health, problems
from kg_api.web.shared.health import without_names
from kg_api.web.shared.limits import BodyLimit, read_model
from kg_api.web.shared.problems import build_error_problem, respond_with_problem
from kg_api.web.shared.routes import ApiRoute
from kg_api.web.shared.scopes import public
from tests.support.asgi import send


class Row(BaseModel):
    number: int


def app() -> FastAPI:
    made = FastAPI()
    made.router.route_class = ApiRoute
    problems.install(made)
    made.add_middleware(RequestLog)

    @made.get("/raise")
    @public()
    def _(status: int, ontology: str | None = None) -> None:
        del ontology
        by_status = {
            409: Conflict("it is taken"),
            503: Unavailable("wait"),
            500: ConfigurationError("set it"),
        }
        raise by_status[status]

    @made.get("/refused")
    @public()
    def _() -> None:
        raise HTTPException(400, "the body is not JSON")

    @made.get("/corrupt")
    @public()
    def _() -> Row:
        return Row.model_validate({"number": "not one"})

    @made.get("/since")
    @public()
    def _(since: Since = None) -> str:
        return str(since)

    @made.post("/message")
    @public()
    def _(message: DocumentMessage) -> None:
        del message

    @made.post("/form", openapi_extra={"requestBody": {}})
    @public()
    async def _(request: Request) -> DocumentMessage:
        return await read_model(request, DocumentMessage)

    return made


def get(path: str) -> httpx.Response:
    return send(app(), "GET", path)


def test_problem_can_quote_invalid_unicode() -> None:
    assert (
        json.loads(bytes(respond_with_problem(422, "x", "x", "bad \ud800 text").body))["detail"]
        == "bad ? text"
    )


def test_corrupt_database_row_is_a_server_error() -> None:
    response = get("/corrupt")
    assert response.status_code == 500
    assert "number" not in response.text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("status=409&colour=red", "unknown query parameters: colour. Known parameters: ontology, status"),
        ("status=409&status=409", "duplicate query parameter"),
        ("status=409&ontology=a&ontology=b", "duplicate query parameter"),
        ("status=x", "status: "),
        ("", "status: Field required"),
    ],
)
def test_query_parameter_is_known_and_unique(query: str, told: str) -> None:
    response = get(f"/raise?{query}")
    body: dict[str, Any] = response.json()
    assert response.status_code == 422
    assert told in body["detail"]


@pytest.mark.parametrize(
    ("since", "read"),
    [
        ("2026-01-31", "2026-01-31 00:00:00+00:00"),
        ("2026-01-31T10:00:00%2B01:00", "2026-01-31 09:00:00+00:00"),
    ],
)
def test_time_of_a_query_is_in_utc(since: str, read: str) -> None:
    assert get(f"/since?since={since}").json() == read


@pytest.mark.parametrize("since", ["yesterday", "20260131", "2026-02-30", "0001-01-01T00:00:00%2B14:00"])
def test_invalid_time_of_a_query_is_rejected(since: str) -> None:
    response = get(f"/since?since={since}")
    assert response.status_code == 422
    assert "is not a time. Write 2025-03-31 or 2025-03-31T09:30:00Z" in response.json()["detail"]


@pytest.mark.parametrize("path", ["/message", "/form"])
def test_unknown_field_of_a_body_names_the_known_ones(path: str) -> None:
    content = b'{"author": "a", "txt": "t", "text": "t"}'
    response = send(app(), "POST", path, content=content, headers={"content-type": "application/json"})
    assert response.json()["detail"] == "txt: unknown field. Did you mean 'text'?"


@pytest.mark.parametrize(
    ("state", "waiting_for"),
    [
        ("ONLINE", None),
        ("POPULATING", "populating, 40 % populated"),
        ("FAILED", "failed, 40 % populated"),
        (None, "not there"),
    ],
)
def test_service_is_ready_with_its_indexes(
    monkeypatch: pytest.MonkeyPatch, state: str | None, waiting_for: str | None
) -> None:
    there = [IndexState(TEXT_INDEX, "FULLTEXT", state, 40.0, {})] if state else []
    monkeypatch.setattr(health, "read_index_states", lambda _: {each.name: each for each in there})
    monkeypatch.setattr(health, "read_embedding_states", lambda _: {})
    monkeypatch.setattr(health, "read_spaces", lambda _: [])
    monkeypatch.setattr(health, "get_default_space", lambda _: SimpleNamespace(index_name=TEXT_INDEX))
    monkeypatch.setattr(health, "_check_models", lambda *_: ())
    opening: Any = SimpleNamespace(waiting_for=lambda: None, container=lambda: SimpleNamespace(graph=None))
    queue: Any = SimpleNamespace(check=lambda: Check(name="worker", ok=True, detail=""))
    full = Check(name="disk", ok=False, detail="the disk is full")
    readiness = health.check_readiness(opening, queue, [full])
    assert readiness.ready == (waiting_for is None)
    assert readiness.waiting_for == (waiting_for and f"index {TEXT_INDEX} is {waiting_for}")


@pytest.mark.parametrize(
    ("failing", "ready", "waiting_for"),
    [
        ([], True, None),
        (["model", "disk"], True, None),
        (["passage_embedding_secret"], False, "an index"),
        (["model", "worker"], False, "a worker"),
        (["processes"], False, "a process that keeps dying"),
    ],
)
def test_readiness_without_names(failing: list[str], ready: bool, waiting_for: str | None) -> None:
    checks = [Check(name=each, ok=False, detail="secret") for each in failing]
    whole = Readiness(ready=ready, waiting_for=None if ready else "secret", checks=checks)
    assert without_names(whole) == Readiness(ready=ready, waiting_for=waiting_for, checks=[])


LIMIT = 1000


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


async def broken(*_: object) -> None:
    raise ZeroDivisionError("SECRET")


async def ended(*_: object) -> None:
    """Raise the error that a request gets when it is cancelled because the service has to stop."""
    raise asyncio.CancelledError


async def broken_late(scope: Scope, receive: Receive, send: Send) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ZeroDivisionError("SECRET")

    await StreamingResponse(parts())(scope, receive, send)


async def leaving(*_: object) -> None:
    raise ClientDisconnect


def ask(app: ASGIApp, content: bytes | AsyncIterator[bytes] = b"", **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return send(app, "POST", "/x", content=content, headers=names)


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size


class Limited:
    """Limit the body as the guard would do, and return errors as the app would do."""

    def __init__(self, app: ASGIApp, bodies: BodyLimit) -> None:
        self._app, self._bodies = app, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._bodies.check_announced(scope)
            with self._bodies.limited(scope, receive) as counted:
                await self._app(scope, counted, send)
        except KgError as error:
            await build_error_problem(error)(scope, receive, send)


def limited(app: ASGIApp) -> ASGIApp:
    return RequestLog(Limited(app, BodyLimit(lambda _: LIMIT, 10**9)))


@pytest.mark.parametrize("sizes", [(LIMIT,), (LIMIT - 1, 1), (0, 0), ()])
def test_body_up_to_the_limit_is_accepted(sizes: tuple[int, ...]) -> None:
    assert ask(limited(echo), b"x" * sum(sizes)).text == str(sum(sizes))
    assert ask(limited(echo), pieces(*sizes)).text == str(sum(sizes))


@pytest.mark.parametrize("sizes", [(LIMIT + 1,), (LIMIT, 1), (1,) * (LIMIT + 1)])
def test_body_over_the_limit_is_rejected(sizes: tuple[int, ...]) -> None:
    for content in (b"x" * sum(sizes), pieces(*sizes)):
        response = ask(limited(echo), content)
        assert response.status_code == 413
        assert response.json()["type"] == "urn:kg:too-large"
        assert "1,000 bytes" in response.json()["detail"]


@pytest.mark.parametrize("length", ["-1", "1.5", "ten", "9" * 5000, "٣" * 30])
def test_invalid_content_length_is_rejected(length: str) -> None:
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


def test_internal_error_has_an_id_without_details() -> None:
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
    replaced = ask(limited(broken), x_request_id="my-id level=error").headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", replaced)


def test_error_during_a_response_closes_the_connection() -> None:
    with capture_logs() as logs, pytest.raises(ZeroDivisionError):
        ask(limited(broken_late))
    assert "unexpected error" in [line["event"] for line in logs]


def test_request_interrupted_by_shutdown_is_retryable() -> None:
    response = ask(limited(ended))
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) >= 1
    assert "the service stopped" in response.json()["detail"]


def test_disconnected_client_is_not_an_error() -> None:
    with capture_logs() as logs, pytest.raises(AssertionError):  # httpx's own: there was no answer
        ask(limited(leaving))
    assert [line["event"] for line in logs] == ["client disconnected", "request"]


def test_logged_path_is_cut_and_escaped() -> None:
    with capture_logs() as logs:
        send(limited(echo), "GET", "/a%0Aevent=forged" + "x" * 2000)
    assert len(logs[0]["path"]) == 500
    assert "\n" not in json.dumps(logs[0])


def test_total_of_large_bodies_is_bounded() -> None:
    mib = 1024 * 1024
    app = RequestLog(Limited(echo, BodyLimit(lambda _: 10 * mib, together=2 * mib)))
    for _ in range(2):
        assert ask(app, pieces(*[mib] * 3)).text == str(3 * mib)
        response = ask(app, pieces(*[mib] * 5))
        assert (response.status_code, response.headers["retry-after"]) == (429, "5")
