import ast
import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

import httpx
import pytest
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.client import AsyncKgClient, KgClient, connection
from kg_api.client.connection import ClientAuth, ExpectedHome
from kg_api.errors import ConfigurationError, KgError, ServiceUnreachable
from kg_api.local.processes import find_free_port
from kg_api.schemas.answers import AnswerRequest
from kg_api.schemas.documents import DocumentUpload
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.web.middleware import RequestLog


def methods(client: type) -> dict[str, Callable[..., Any]]:
    found = inspect.getmembers(client, inspect.isfunction)
    return {name: each for name, each in found if not name.startswith("_")}


def test_both_clients_have_the_same_methods() -> None:
    assert methods(KgClient).keys() == methods(AsyncKgClient).keys()
    assert len(methods(KgClient)) >= 16


@pytest.mark.parametrize("name", methods(KgClient))
def test_sync_and_async_methods_have_equal_signatures(name: str) -> None:
    one, other = methods(KgClient)[name], methods(AsyncKgClient)[name]
    assert str(inspect.signature(one)) == str(inspect.signature(other)).replace("-> 'Async", "-> '")
    assert "Call[" not in str(inspect.signature(one))
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other) or inspect.isasyncgenfunction(other)
    assert not inspect.iscoroutinefunction(one)


def test_both_are_opened_alike() -> None:
    assert inspect.signature(KgClient.__init__) == inspect.signature(AsyncKgClient.__init__)


class Recorder(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers.get('Authorization')}")
        body = b'{"version": "1"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its name there


@pytest.fixture
def recorder() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Handler", (Recorder,), {"seen": seen}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    thread.join()
    server.server_close()


async def healthy(url: str, key: str | None = None) -> str:
    async with AsyncKgClient(url, api_key=key) as client:
        return (await client.health()).version


def test_both_clients_send_the_key(recorder: tuple[str, list[str]]) -> None:
    url, seen = recorder
    with KgClient(url, api_key="k1") as client, KgClient(url) as without:
        assert client.health().version == without.health().version == "1"
    assert asyncio.run(healthy(url, "k2")) == "1"
    assert seen == ["/health Bearer k1", "/health None", "/health Bearer k2"]


def test_loopback_requests_bypass_proxies(
    recorder: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{find_free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with KgClient(recorder[0]) as client:
        assert client.health().version == "1"
    assert asyncio.run(healthy(recorder[0])) == "1"


PROBLEM = b'{"type": "too-busy", "title": "", "status": 429, "detail": "8 event streams are open"}'


@pytest.mark.parametrize(
    ("status", "sent", "kind"),
    [
        (429, PROBLEM, "application/problem+json"),
        (200, b"event: error\ndata: " + PROBLEM + b"\n\n", "text/event-stream"),
    ],
    ids=["response", "event"],
)
def test_async_stream_raises_the_error_of_the_service(status: int, sent: bytes, kind: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield sent

    async def follow() -> None:
        answer = httpx.Response(status, content=body(), headers={"content-type": kind})
        transport = httpx.MockTransport(lambda _: answer)
        async with AsyncKgClient("http://127.0.0.1:1") as client:
            client._http = httpx.AsyncClient(base_url="http://127.0.0.1:1", transport=transport)
            await anext(client.follow_jobs())

    with pytest.raises(KgError, match=r"^8 event streams"):
        asyncio.run(follow())


@pytest.mark.parametrize(
    ("sent", "kind", "told"),
    [
        (b"", "text/event-stream", "the answer was cut off"),
        (b"data: {}\n\n", "text/event-stream", "the answer was cut off"),
        (b"<html>", "text/html", "is not this kg"),
    ],
    ids=["empty", "event", "page"],
)
def test_broken_answer_stream_is_reported(sent: bytes, kind: str, told: str) -> None:
    url, headers = "http://127.0.0.1:1", {"content-type": kind}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=sent, headers=headers))

    async def ask() -> None:
        async with AsyncKgClient(url) as client:
            client._http = httpx.AsyncClient(base_url=url, transport=transport)
            await client.answer("why?")

    with KgClient(url) as client:
        client._http = httpx.Client(base_url=url, transport=transport)
        with pytest.raises(ServiceUnreachable, match=told):
            client.answer("why?")
    with pytest.raises(ServiceUnreachable, match=told):
        asyncio.run(ask())


async def search_all(search: SourceSearch | str) -> list[SourceHits]:
    async with AsyncKgClient("http://127.0.0.1:1") as kg:
        return [page async for page in kg.source_pages(search)]


@pytest.mark.parametrize("search", ["bees", SourceSearch(query_text="bees", limit=1)])
def test_both_clients_follow_cursors(search: SourceSearch | str, monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(_: object, method: str, path: str, *, json: dict[str, Any], **__: object) -> httpx.Response:
        page = {"query_text": "bees", "mode": "text", "space": None, "sources": [], "timings_ms": {}}
        cursor = None if json.get("cursor") else "next"
        sent = {**page, "degraded": [], "next_cursor": cursor}
        return httpx.Response(200, json=sent, request=httpx.Request(method, f"http://127.0.0.1:1{path}"))

    async def respond_async(*arguments: Any, **options: Any) -> httpx.Response:
        return respond(*arguments, **options)

    monkeypatch.setattr(httpx.Client, "request", respond)
    monkeypatch.setattr(httpx.AsyncClient, "request", respond_async)
    with KgClient("http://127.0.0.1:1") as kg:
        pages = list(kg.source_pages(search))
    assert [page.next_cursor for page in pages] == ["next", None]
    assert asyncio.run(search_all(search)) == pages


def test_unreachable_service_message_hides_the_password() -> None:
    url = f"http://user:SECRET@127.0.0.1:{find_free_port()}"
    with KgClient(url) as client, pytest.raises(ServiceUnreachable, match="kg up") as one:
        client.health()
    with pytest.raises(ServiceUnreachable) as other:
        asyncio.run(healthy(url))
    assert str(one.value) == str(other.value)
    assert "SECRET" not in str(one.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999999", "http://[::1", "http://a\nb"])
def test_an_address_that_is_none_names_its_variable(url: str) -> None:
    with pytest.raises(ConfigurationError, match="KG_API_URL"):
        KgClient(url)


@pytest.mark.parametrize("key", ["schlüssel", "a\r\nX-Other: b"])
def test_invalid_key_names_the_variable_without_value(key: str) -> None:
    with pytest.raises(ConfigurationError, match="KG_API_KEY") as raised:
        KgClient("http://127.0.0.1:1", api_key=key)
    assert key not in str(raised.value)


@pytest.mark.parametrize("url", ["https://127.0.0.1:8420", "https://kg.example", "http://kg.example"])
def test_https_urls_verify_certificates(url: str) -> None:
    assert connection.options(url, None, 5)["verify"] is True


def test_exports_and_uploads_have_longer_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[float]()

    def request(client: httpx.Client, *_: object, timeout: httpx.Timeout | None = None, **__: object) -> Any:
        waited.append((timeout or client.timeout).read or 0)
        raise httpx.ReadTimeout("")

    monkeypatch.setattr(httpx.Client, "request", request)
    with KgClient("http://127.0.0.1:1") as kg:
        upload = partial(kg.ingest_bytes, b"t", ontology="o", document="d")
        exports = kg.export_offer, partial(kg.export_documents, "o"), partial(kg.export_blob, "0")
        for ask in (*exports, upload, kg.queue):
            with pytest.raises(ServiceUnreachable, match="did not respond in time"):
                ask()
    assert waited == [connection.MAX_READING_SECONDS] * 4 + [connection.DEFAULT_TIMEOUT_SECONDS]


OURS, OTHER = "a" * 32, "b" * 32
EXPECTED = ExpectedHome(OURS, lambda: "the kg of the home /other (pid 7) has the port")


class BodyRecorder:
    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.received.append((request.method, await request.body()))
        await Response("{}")(scope, receive, send)


def with_client(app: ASGIApp, work: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        auth, transport = ClientAuth(None, EXPECTED), httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://kg/kg", auth=auth) as kg:
            return await work(kg)

    return asyncio.run(run())


def test_service_of_expected_home_gets_every_request() -> None:
    recorder = BodyRecorder()

    async def work(kg: httpx.AsyncClient) -> None:
        for _ in range(2):
            await kg.post("/documents", content=b"text")

    with_client(RequestLog(recorder, lambda: OURS), work)
    assert recorder.received == [("HEAD", b""), ("POST", b"text"), ("POST", b"text")]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("instance", [OTHER, None])
def test_service_of_other_home_rejects_request(method: str, instance: str | None) -> None:
    recorder = BodyRecorder()
    app = RequestLog(recorder, lambda: instance)
    with pytest.raises(ServiceUnreachable, match=r"/other \(pid 7\)"):
        with_client(app, lambda kg: kg.request(method, "/documents", content=b"text"))
    assert recorder.received == []


def test_service_that_changes_between_requests_rejects_second() -> None:
    recorder, instances = BodyRecorder(), [OURS, OURS, OTHER]

    async def work(kg: httpx.AsyncClient) -> None:
        await kg.post("/documents", content=b"first")
        await kg.post("/documents", content=b"second")

    with pytest.raises(ServiceUnreachable):
        with_client(RequestLog(recorder, lambda: instances.pop(0)), work)
    assert [body for _, body in recorder.received] == [b"", b"first"]


REQUESTS: dict[str, type[BaseModel]] = {
    **dict.fromkeys(("answer", "stream_answer"), AnswerRequest),
    **dict.fromkeys(("ingest_bytes", "preview_bytes"), DocumentUpload),
}
"""Models by methods, with those that `find_requests` adds."""
ELSEWHERE: dict[str, set[str]] = {
    "ingest_bytes": {"content"},
    "preview_bytes": {"content"},
    "change_document": {"document_id", "ontology"},
    "similar_sources": {"source_id"},
    "related_sources": {"source_id"},
    "search_by_image": {"file"},
    "set_embedding_config": {"ontology", "dry_run"},
    "set_extraction_config": {"ontology", "dry_run"},
    "regenerate_embeddings": {"idempotency_key"},
    "build_space": {"slug"},
    "activate_space": {"slug"},
    "rollback_space": {"slug"},
    "rotate_key": {"key"},
    "add_folder": {"grant"},
    "scan_folder": {"folder_id"},
    "merge_relationship_types": {"ontology"},
    "undo_type_merge": {"ontology", "merge_id"},
    "judge": {"ontology"},
    "undo_concept_merge": {"ontology", "merge_id"},
}
"""Arguments in the path, query, or header."""
FIXED = {"answer": {"stream"}, "stream_answer": {"stream"}}
OTHER_NAMES = {"regenerate_embeddings": {"kind": "type"}}


def find_requests() -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield each method that passes `locals()` to a model, checked to be its options."""
    for path in Path(inspect.getfile(AsyncKgClient)).parent.glob("*.py"):
        models = vars(import_module(f"kg_api.client.{path.stem}"))
        for method in (each for each in ast.walk(ast.parse(path.read_text())) if is_function(each)):
            for call in (each for each in ast.walk(method) if isinstance(each, ast.Call)):
                if "locals()" in map(ast.unparse, call.args):
                    first = next(each for each in method.body if not isinstance(each, ast.Expr))
                    assert call.lineno <= (first.end_lineno or 0), f"{method.name}: more than options"
                    model = call.args[0]
                    named = isinstance(model, ast.Name)
                    yield method.name, models[model.id] if named else REQUESTS[method.name]


def is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


REQUESTS.update(find_requests())


def options(name: str) -> set[str]:
    parameters = inspect.signature(getattr(AsyncKgClient, name)).parameters
    return parameters.keys() - {"self", *ELSEWHERE.get(name, ())}


def test_no_method_takes_options_without_names() -> None:
    for name, method in inspect.getmembers(AsyncKgClient, inspect.isfunction):
        kinds = {each.kind for each in inspect.signature(method).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, name


@pytest.mark.parametrize("name", REQUESTS)
def test_method_options_equal_request_fields(name: str) -> None:
    fields = {OTHER_NAMES.get(name, {}).get(each, each) for each in options(name)}
    assert fields == REQUESTS[name].model_fields.keys() - FIXED.get(name, set())
