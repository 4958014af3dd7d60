import json
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from pydantic import TypeAdapter

from kg_api.schemas.documents import DocumentText
from kg_api.schemas.search import SourceSearch
from tests.service.asking import SEARCH, problem
from tests.support.running import Service, wait_until

MEGABYTE = b"x" * 1024 * 1024


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/nothing", 404, "http"),
        ("GET", "/documents/none", 404, "not-found"),
        ("GET", "/sources/none", 404, "not-found"),
        ("GET", "/sources/none/context", 404, "not-found"),
        ("GET", "/jobs/none", 404, "not-found"),
        ("GET", "/ontologies/none/embedding-status", 404, "not-found"),
        ("GET", "/documents/", 422, "invalid-input"),
        ("GET", "/documents/a%2Fb", 404, "not-found"),
        ("GET", "//documents", 404, "http"),
        ("GET", "/%2e%2e/documents", 404, "http"),
        ("PUT", "/documents", 405, "http"),
        ("DELETE", "/health", 405, "http"),
        ("GET", SEARCH, 405, "http"),
        ("POST", SEARCH, 415, "http"),
        ("GET", "/documents?limit=0", 422, "invalid-input"),
    ],
)
def test_every_error_is_a_problem(http: httpx.Client, method: str, path: str, status: int, kind: str) -> None:
    response = http.request(method, f"{str(http.base_url).rstrip('/')}{path}")  # or httpx drops `//documents`
    problem(response, status)
    assert response.json()["type"] == f"urn:kg:{kind}"
    assert ("allow" in response.headers) == (status == 405)


def test_wrong_method_gets_the_allowed_ones(http: httpx.Client) -> None:
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        response = http.request("TRACE", path)
        problem(response, 405)
        assert {each.upper() for each in methods} <= set(response.headers["allow"].split(", ")), path


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/ready", "/ui/search", "/ontologies", "/nothing"])
def test_head_is_answered_like_get(http: httpx.Client, path: str) -> None:
    response, got = http.head(path), http.get(path)
    assert (response.status_code, response.content) == (got.status_code, b"")
    assert response.headers.get("content-type") == got.headers.get("content-type")


@pytest.mark.parametrize("path", ["/jobs/events", SEARCH])
def test_head_without_finite_get_is_rejected(http: httpx.Client, path: str) -> None:
    assert http.head(path).status_code == 405


def test_whole_number_may_have_a_decimal_point(http: httpx.Client) -> None:
    body = '{"query_text": "x", "mode": "text", "limit": 57.0}'
    kind = {"content-type": "application/json"}
    assert http.post(SEARCH, content=body, headers=kind).status_code == 200
    assert http.post(SEARCH, content=body.replace("57.0", "5.5"), headers=kind).status_code == 422


def test_request_id_is_created_or_kept(http: httpx.Client) -> None:
    ids = {http.get("/health").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    for status in (200, 404):
        response = http.get({200: "/health", 404: "/nothing"}[status], headers={"X-Request-ID": "my.id-7"})
        assert response.headers["x-request-id"] == "my.id-7"


def test_request_log_has_id_method_path_and_status(http: httpx.Client, service: Service) -> None:
    http.get("/documents/none?", headers={"X-Request-ID": "to-be-logged"})
    wait_until(lambda: "to-be-logged" in service.output(), 5)  # it is written when the answer has gone
    (line,) = [json.loads(line) for line in service.output().splitlines() if "to-be-logged" in line]
    assert (line["event"], line["method"], line["path"], line["status"]) == (
        *("request", "GET", "/documents/none"),
        404,
    )
    assert line["ms"] > 0


def chunks(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield MEGABYTE


def test_announced_body_over_limit_is_rejected_before_sending(service: Service) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = [
            "POST /documents HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Content-Length: {}",
        ]
        connection.sendall("\r\n".join([*head, "", ""]).format(10**10).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(("path", "megabytes"), [(SEARCH, 2), ("/documents", 65)])
def test_body_without_length_is_rejected_at_the_limit(http: httpx.Client, path: str, megabytes: int) -> None:
    response = http.post(path, content=chunks(megabytes), headers={"content-type": "application/json"})
    assert "larger than" in problem(response, 413)
    assert http.get("/health").status_code == 200


def test_openapi_describes_actual_errors(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    problems = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len(operations) >= 14
    for operation in operations:
        assert operation["responses"]["default"]["content"] == problems
        assert "422" not in operation["responses"]
    answer = http.get("/nothing").json()
    assert answer.keys() <= document["components"]["schemas"]["Problem"]["properties"].keys()


def test_openapi_examples_are_valid(http: httpx.Client) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    asked = paths[SEARCH]["post"]["requestBody"]["content"]["application/json"]["examples"]
    stored = paths["/documents"]["post"]["requestBody"]["content"]["application/json"]["example"]
    examples: list[tuple[str, Any, Any]] = [("/documents", stored, DocumentText)]
    examples += [(SEARCH, each["value"], SourceSearch) for each in asked.values()]
    assert len(examples) == 2
    for path, body, model in examples:
        TypeAdapter(model).validate_python(body)
        assert http.post(path, json=body).is_success


def test_api_page_loads_no_external_content(http: httpx.Client) -> None:
    page = http.get("/docs")
    assert page.headers["x-content-type-options"] == "nosniff"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    parts = [urljoin("/docs", each) for each in re.findall(r'(?:src|href)="([^"]+)"', page.text)]
    assert not [each for each in parts if not each.startswith(("/", "data:"))]
    assert not re.search(r"<script>|<script[^>]*>[^<]", page.text)
    kinds = {
        each: http.get(each).headers["content-type"].partition(";")[0] for each in parts if each[0] == "/"
    }
    assert kinds == {
        "/docs/swagger-ui.css": "text/css",
        "/docs/swagger-ui-bundle.js": "text/javascript",
        "/docs/start.js": "text/javascript",
        "/openapi.json": "application/json",
    }
    assert "SwaggerUIBundle" in http.get("/docs/swagger-ui-bundle.js").text
    for path in ("/docs/redoc.standalone.js", "/docs/..%2f..%2fMETADATA", "/redoc"):
        assert http.get(path).status_code in {404, 422}
