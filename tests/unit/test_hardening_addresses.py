"""Only settings contain URLs that kg requests: HARDENING 64-72.

64-66 and 68 do not apply, because an administrator may name this machine or its network. No request
contains a URL to fetch. `uri` of a document is stored and displayed only.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from kg_api.errors import ConfigurationError
from kg_api.providers.http import JsonClient, Provider, Variables
from kg_api.providers.remote_embedding import EMBEDDING
from kg_api.settings import load_settings
from tests.support.routes import build_openapi

SECRET = "canary5d41402abc"
VARIABLES = (
    *("OPENAI_BASE_URL", "NOMIC_BASE_URL", "COHERE_BASE_URL", "KG_LLM__BASE_URL", "KG_RERANK__BASE_URL"),
    *("KG_IMAGE_EMBEDDING__BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "KG_BLOBS__S3__ENDPOINT"),
)
SUSPICIOUS = ("url", "uri", "webhook", "callback", "href", "endpoint", "host")


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize(
    "address",
    [
        *(pytest.param(f"{scheme}/{SECRET}", id=f"69-{scheme}") for scheme in ("file://", "gopher://x")),
        *(pytest.param(f"{scheme}{SECRET}", id=f"69-{scheme}") for scheme in ("ftp://x/", "data:", "jar:")),
        pytest.param(f"http://good.com:{SECRET}@127.0.0.1/", id="70-user info"),
        pytest.param(f"http://127.0.0.1#@{SECRET}.com/", id="70-fragment"),
        pytest.param(f"http://127.0.0.1\\@{SECRET}.com/", id="70-backslash and user info"),
        pytest.param(f"http://127.0.0.1\\{SECRET}", id="70-backslash"),
        pytest.param(f"http://127.0.0.1/\r\nX: {SECRET}", id="70-CRLF"),
        pytest.param(f"http://user:{SECRET}@127.0.0.1:4318", id="72-password"),
        pytest.param(f"http://127.0.0.1:4318?key={SECRET}", id="72-query"),
        pytest.param(f"http://127.0.0.1:4318/v1?key={SECRET}", id="72-query behind a path"),
    ],
)
def test_url_rejects_credentials_and_other_hosts(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    monkeypatch.setenv(name, address)
    with pytest.raises(ConfigurationError, match=name) as raised:
        load_settings()
    assert SECRET not in str(raised.value)


def test_64_to_69_requests_have_no_url_fields() -> None:
    """If you add a field with this kind of name, check who can use it to send requests, and add it
    here."""
    described = build_openapi()
    asked = {
        name
        for path in described["paths"].values()
        for operation in path.values()
        for name in [*_fields_of_body(operation, described), *_parameters(operation)]
    }
    assert {"document", "query_text", "ontology"} <= asked
    assert {name for name in asked if any(each in name.lower() for each in SUSPICIOUS)} == {"uri"}


def _parameters(operation: dict[str, Any]) -> Iterator[str]:
    return (each["name"] for each in operation.get("parameters", ()))


def _fields_of_body(operation: dict[str, Any], described: dict[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: list[Any] = [operation.get("requestBody", {})]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            yield from found.get("properties", {})
            reference = found.get("$ref", "")
            if reference and reference not in seen:
                seen.add(reference)
                waiting.append(described["components"]["schemas"][reference.rpartition("/")[2]])
            waiting += found.values()


class _Leading(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        self.send_response(302)
        self.send_header("Location", "/latest/meta-data")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        ...


def test_a_provider_leads_nowhere_else() -> None:
    """Number 67."""
    with HTTPServer(("127.0.0.1", 0), _Leading) as leading:
        leading.paths = []  # type: ignore[attr-defined]
        answering = threading.Thread(target=leading.handle_request)
        answering.start()
        address = f"http://127.0.0.1:{leading.server_address[1]}"
        client = JsonClient(Provider(EMBEDDING, Variables("A", "B", "C"), "m", address, None), "/v1")
        answer = client.post({}, 5)
        client.close()
        answering.join(5)
        assert answer.status == 302
        assert leading.paths == ["/v1"]  # type: ignore[attr-defined]
