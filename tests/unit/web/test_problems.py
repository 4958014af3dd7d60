from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from kg_api.errors import ConfigurationError, Conflict, KgError, NotFound, TooLarge, Unavailable
from kg_api.schemas.operations import Check, Readiness
from kg_api.schemas.problems import MAX_DETAIL_CHARACTERS, Problem
from kg_api.web.middleware import RequestLog
from kg_api.web.shared import problems
from kg_api.web.shared.health import without_names
from kg_api.web.shared.problems import of_error, problem
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

    return made


def get(path: str) -> httpx.Response:
    return send(app(), "GET", path)


@pytest.mark.parametrize("error", [NotFound("x"), TooLarge("x"), Unavailable("x"), KgError("x")])
def test_error_becomes_a_problem_response(error: KgError) -> None:
    told = of_error(error)
    body = Problem.model_validate_json(bytes(told.body))
    assert told.status_code == body.status == error.status
    assert (body.type, body.title, body.detail) == (f"urn:kg:{error.slug()}", type(error).__name__, "x")
    assert ("retry-after" in told.headers) == (error.status == 503)
    assert told.media_type == "application/problem+json"


def test_problem_can_quote_invalid_unicode() -> None:
    assert json.loads(bytes(problem(422, "x", "x", "bad \ud800 text").body))["detail"] == "bad ? text"


def test_a_detail_is_not_endless() -> None:
    told = Problem.model_validate_json(bytes(of_error(NotFound("x" * 10**6)).body))
    assert len(told.detail) == MAX_DETAIL_CHARACTERS


@pytest.mark.parametrize(("status", "detail"), [(409, "it is taken"), (503, "wait"), (500, "set it")])
def test_an_error_that_a_route_raises_is_answered(status: int, detail: str) -> None:
    response = get(f"/raise?status={status}")
    assert (response.status_code, response.json()["detail"]) == (status, detail)


def test_http_error_title_is_its_status() -> None:
    told = get("/nowhere").json()
    assert (told["type"], told["title"], told["status"]) == ("urn:kg:http", "Not Found", 404)
    assert told["detail"] == "nothing found at GET /nowhere. /openapi.json describes all paths"


def test_http_error_message_is_the_detail() -> None:
    told = get("/refused").json()
    assert (told["title"], told["detail"]) == ("Bad Request", "the body is not JSON")


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


def test_readiness_before_the_database_is_open_names_nothing() -> None:
    told = without_names(Readiness(ready=False, waiting_for="Neo4j at bolt://secret", checks=[]))
    assert (told.ready, told.waiting_for) == (False, "the service to open")
