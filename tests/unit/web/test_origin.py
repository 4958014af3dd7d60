from __future__ import annotations

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from kg_api.errors import ConfigurationError
from kg_api.settings import ApiSettings, load_settings
from kg_api.web.app import create_app
from kg_api.web.shared.limits import OriginCheck, allowed_hosts
from kg_api.web.shared.problems import problem
from tests.support.asgi import send as send_request

VISIT = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def settings(listening: str = "127.0.0.1", hosts: str | None = None, pages: str | None = None) -> ApiSettings:
    return ApiSettings(host=listening, allowed_hosts=hosts, allowed_origins=pages)


def ask(given: ApiSettings, host: str, *, method: str = "GET", path: str = "/x", **headers: str) -> int:
    return reply(given, host, method=method, path=path, **headers).status_code


def reply(
    given: ApiSettings, host: str, *, method: str = "GET", path: str = "/x", **headers: str
) -> httpx.Response:
    origins = OriginCheck(allowed_hosts(given), given.allowed_web_pages)

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = origins.check(scope, Headers(scope=scope))
        await (problem(*refusal) if refusal else PlainTextResponse("ok"))(scope, receive, send)

    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return send_request(check, method, path, base_url="http://127.0.0.1", headers={"Host": host, **named})


def test_unknown_host_is_rejected_with_its_setting() -> None:
    told = reply(settings(), "evil.example").json()["detail"]
    assert "'evil.example' in the Host header" in told
    assert "add it to KG_API__ALLOWED_HOSTS" in told


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1:8420", None, 200),
        ("localhost:8420", None, 200),
        ("[::1]:8420", None, 200),
        ("localhost:8420", "http://localhost:8420", 200),
        ("localhost", "https://localhost", 200),
        ("[::1]:8420", "http://[::1]:8420", 200),
        ("localhost:8420", "http://localhost:3000", 403),
        ("localhost:8420", "http://localhost", 403),
        ("localhost:8420", "http://127.0.0.1:8420", 403),
        ("localhost:8420", "ftp://localhost:8420", 403),
        ("evil.example", None, 421),
        ("", None, 421),
        ("127.0.0.1.evil.example", None, 421),
        ("localhost:8420", "https://evil.example", 403),
        ("localhost:8420", "null", 403),
        ("localhost:8420", "http://localhost:x", 403),
        ("localhost:8420", "", 403),
    ],
)
def test_loopback_accepts_only_local_hosts_and_origins(host: str, origin: str | None, status: int) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert ask(settings(), host, **headers) == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("kg.example", None, 200),
        ("KG.example:8420", None, 200),
        ("192.0.2.7:8420", None, 200),
        ("[2001:db8::7]:8420", None, 200),
        ("localhost:8420", None, 200),
        ("kg.example", "https://kg.example", 200),
        ("kg.example", "https://evil.example", 403),
        ("kg.example", "https://kg.example:444", 403),
        ("evil.example", None, 421),
        ("evil.example", "http://evil.example", 421),
        ("0.0.0.0:8420", None, 421),
    ],
)
def test_public_bind_accepts_only_configured_names(host: str, origin: str | None, status: int) -> None:
    given = settings("0.0.0.0", "kg.example, 192.0.2.7,[2001:db8::7]")
    headers = {} if origin is None else {"Origin": origin}
    assert ask(given, host, **headers) == status


def test_public_bind_without_names_is_rejected() -> None:
    given = load_settings(api=settings("0.0.0.0"))
    with pytest.raises(ConfigurationError, match="KG_API__ALLOWED_HOSTS"):
        create_app(given, lambda _: None)


@pytest.mark.parametrize(
    ("hosts", "pages"),
    [
        ("http://kg.example", None),
        ("kg.example:8420", None),
        ("*", None),
        (None, "kg.example"),
        (None, "https://kg.example/"),
        (None, "*"),
    ],
)
def test_invalid_host_or_origin_is_rejected(hosts: str | None, pages: str | None) -> None:
    with pytest.raises(ValueError, match="takes"):
        settings(hosts=hosts, pages=pages)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_cross_site_request_is_rejected(site: str, method: str) -> None:
    assert ask(settings(), "localhost", method=method, **{"Sec-Fetch-Site": site}) == 403


@pytest.mark.parametrize(
    ("path", "change", "status"),
    [
        ("/", {}, 200),
        ("/docs", {}, 200),
        ("/ui", {}, 200),
        ("/ui/read/notes/a.md", {}, 200),
        ("/ui/search", {"method": "POST"}, 403),
        ("/ui/search", {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/uid", {}, 403),
        ("/embedding/health", {}, 403),
        ("/", {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/", {"Sec-Fetch-Mode": "no-cors"}, 403),
    ],
)
def test_external_link_opens_only_pages(path: str, change: dict[str, str], status: int) -> None:
    assert ask(settings(), "localhost", path=path, **{**VISIT, **change}) == status


@pytest.mark.parametrize(("origin", "status"), [("https://app.example", 200), ("https://evil.example", 403)])
def test_preflight_is_answered_for_configured_origins(origin: str, status: int) -> None:
    app = create_app(load_settings(api=settings(pages="https://app.example")), lambda _: None)

    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    response = send_request(app, "OPTIONS", "/documents", base_url="http://localhost", headers=headers)
    assert response.status_code == status
    assert response.headers.get("access-control-allow-origin") == (origin if status == 200 else None)
