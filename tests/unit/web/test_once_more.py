"""What is read again where a node was deleted in the middle of a read."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.graph.client import READ_AGAIN_TIMES
from kg_api.metrics import note_model_asked, within_budget
from kg_api.web.middleware import MAX_KEPT_BYTES, OnceMore

SEARCH = "/queries/sources/search"
WRITE = "/documents"
ANSWER = "/queries/answer"


class Accounted:
    """Gives each request an account, as the door does."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request (ASGI)."""
        with within_budget(None):
            await self.app(scope, receive, send)


def service(failures: int, error: Exception) -> tuple[FastAPI, list[str]]:
    """A service whose routes fail so many times first; what each try was given."""
    app, tries = FastAPI(), list[str]()
    app.add_middleware(OnceMore)
    app.add_middleware(Accounted)

    def answer(given: str) -> str:
        tries.append(given)
        if len(tries) <= failures:
            raise error
        return f"found {given}"

    def post(query: str = Body(embed=True)) -> str:
        return answer(query)

    def get() -> str:
        return answer("")

    def stream() -> StreamingResponse:
        def parts() -> Iterator[str]:
            yield "a part"
            answer("")

        return StreamingResponse(parts())

    def ask_model(query: str = Body(embed=True)) -> str:
        note_model_asked()
        return answer(query)

    for path in (SEARCH, WRITE):
        app.post(path)(post)
    app.post(ANSWER)(ask_model)
    app.get("/documents")(get)
    app.get("/stream")(stream)
    return app, tries


@pytest.mark.parametrize("error", [TypeError("null"), AttributeError("null")], ids=["type", "attribute"])
@pytest.mark.parametrize("failures", range(1 + READ_AGAIN_TIMES))
def test_a_search_is_answered_though_reads_broke(failures: int, error: Exception) -> None:
    app, tries = service(failures, error)
    answer = TestClient(app).post(SEARCH, json={"query": "lease"})
    assert (answer.status_code, answer.json()) == (200, "found lease")
    assert tries == ["lease"] * (failures + 1)


def test_a_page_is_read_again() -> None:
    app, tries = service(1, TypeError("null"))
    assert TestClient(app).get("/documents").status_code == httpx.codes.OK
    assert len(tries) == 2


def test_a_bug_is_one_all_the_same() -> None:
    app, tries = service(10, TypeError("a bug"))
    with pytest.raises(TypeError, match="a bug"):
        TestClient(app).post(SEARCH, json={"query": "lease"})
    assert len(tries) == 1 + READ_AGAIN_TIMES


@pytest.mark.parametrize("path", [WRITE, ANSWER])
def test_what_changes_or_costs_something_is_done_once(path: str) -> None:
    app, tries = service(1, TypeError("null"))
    with pytest.raises(TypeError):
        TestClient(app).post(path, json={"query": "lease"})
    assert len(tries) == 1


def test_another_error_is_not_repeated() -> None:
    app, tries = service(1, ValueError("no null"))
    with pytest.raises(ValueError, match="no null"):
        TestClient(app).post(SEARCH, json={"query": "lease"})
    assert len(tries) == 1


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    app, tries = service(1, TypeError("null"))
    with pytest.raises(TypeError):
        TestClient(app).get("/stream")
    assert len(tries) == 1


def test_a_body_too_large_to_keep_is_not_read_again() -> None:
    app, tries = service(1, TypeError("null"))
    with pytest.raises(TypeError):
        TestClient(app).post(SEARCH, json={"query": "a" * MAX_KEPT_BYTES})
    assert len(tries) == 1
