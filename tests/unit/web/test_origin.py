import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from kg_api.errors import ConfigurationError
from kg_api.settings import ApiSettings, load_settings
from kg_api.web.app import create_app
from kg_api.web.shared import forwarded
from kg_api.web.shared.forwarded import Forwarded, prefix_page, prefix_pieces
from kg_api.web.shared.limits import OriginCheck, list_allowed_hosts
from kg_api.web.shared.problems import respond_with_problem
from tests.support.asgi import send as send_to

VISIT = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def settings(listening: str = "127.0.0.1", hosts: str | None = None, pages: str | None = None) -> ApiSettings:
    return ApiSettings(host=listening, allowed_hosts=hosts, allowed_origins=pages)


def ask(given: ApiSettings, host: str, **more: str) -> int:
    return reply(given, host, **more).status_code


def reply(
    given: ApiSettings, host: str, *, method: str = "GET", path: str = "/x", **headers: str
) -> httpx.Response:
    origins = OriginCheck(list_allowed_hosts(given), given.allowed_web_pages)

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = origins.check(scope, Headers(scope=scope))
        await (respond_with_problem(*refusal) if refusal else PlainTextResponse("ok"))(scope, receive, send)

    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return send_to(check, method, path, base_url="http://127.0.0.1", headers={"Host": host, **named})


def test_unknown_host_is_rejected_with_its_setting() -> None:
    told = reply(settings(), "evil.example").json()["detail"]
    assert "'evil.example' in the Host header" in told
    assert "add it to KG_API__ALLOWED_HOSTS" in told


LOCAL, PUBLIC = settings(), settings("0.0.0.0", "kg.example, 192.0.2.7,[2001:db8::7]")


@pytest.mark.parametrize(
    ("given", "host", "origin", "status"),
    [
        *((LOCAL, host, None, 200) for host in ("127.0.0.1:8420", "localhost:8420", "[::1]:8420")),
        (LOCAL, "localhost:8420", "http://localhost:8420", 200),
        (LOCAL, "localhost:8420", "http://localhost:3000", 403),
        (LOCAL, "localhost:8420", "http://127.0.0.1:8420", 403),
        *((LOCAL, "localhost:8420", origin, 403) for origin in ("https://evil.example", "null")),
        *((LOCAL, "localhost:8420", origin, 403) for origin in ("http://localhost:x", "")),
        *((LOCAL, host, None, 421) for host in ("evil.example", "", "127.0.0.1.evil.example")),
        *((PUBLIC, host, None, 200) for host in ("kg.example", "KG.example:8420", "192.0.2.7:8420")),
        (PUBLIC, "[2001:db8::7]:8420", None, 200),
        (PUBLIC, "kg.example", "https://kg.example", 200),
        (PUBLIC, "kg.example", "https://kg.example:444", 403),
        (PUBLIC, "evil.example", None, 421),
        (PUBLIC, "evil.example", "http://evil.example", 421),
        (PUBLIC, "0.0.0.0:8420", None, 421),
    ],
)
def test_only_known_hosts_and_origins_are_accepted(
    given: ApiSettings, host: str, origin: str | None, status: int
) -> None:
    assert ask(given, host, **({} if origin is None else {"Origin": origin})) == status


def test_public_bind_without_names_is_rejected() -> None:
    given = load_settings(api=settings("0.0.0.0"))
    with pytest.raises(ConfigurationError, match="KG_API__ALLOWED_HOSTS"):
        create_app(given, lambda _: None)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_cross_site_request_is_rejected(site: str, method: str) -> None:
    assert ask(settings(), "localhost", method=method, **{"Sec-Fetch-Site": site}) == 403


@pytest.mark.parametrize(
    ("path", "change", "status"),
    [
        *((path, {}, 200) for path in ("/", "/docs", "/ui", "/ui/read/notes/a.md")),
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
    response = send_to(app, "OPTIONS", "/documents", base_url="http://localhost", headers=headers)
    assert response.status_code == status
    assert response.headers.get("access-control-allow-origin") == (origin if status == 200 else None)


TEMPLATES = sorted((Path(forwarded.__file__).parents[1] / "ui" / "templates").rglob("*.html"))
HTML = {"Accept": "text/html"}
PREFIX = {"X-Forwarded-Prefix": "/kg"}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(load_settings(), lambda _: None)


def asked(
    app: FastAPI,
    path: str,
    headers: dict[str, str],
    *,
    root_path: str = "",
    peer: str = "127.0.0.1",
    method: str = "GET",
) -> httpx.Response:
    below = Forwarded(app, root_path, "127.0.0.1")
    return send_to(below, method, path, base_url="http://127.0.0.1:8420", peer=peer, headers=headers)


@pytest.mark.parametrize("path", ["/", "/kg/", "/kg"])
def test_redirect_has_set_path(app: FastAPI, path: str) -> None:
    """A proxy can keep the path prefix or remove it."""
    assert asked(app, path, HTML, root_path="/kg").headers["location"] == "/kg/ui/search"


@pytest.mark.parametrize(
    ("header", "peer", "expected"),
    [
        ("/kg", "127.0.0.1", "/kg/ui/search"),
        ("/team/kg/", "127.0.0.1", "/team/kg/ui/search"),
        ("/outer, /inner", "127.0.0.1", "/outer/ui/search"),
        *((header, "127.0.0.1", "/ui/search") for header in ("/", "", "//evil.example", "/\\evil.example")),
        *((header, "127.0.0.1", "/ui/search") for header in ('/"><script>', "/a/../b")),
        ("http://evil.example", "127.0.0.1", "/ui/search"),
        ("/kg", "192.0.2.7", "/ui/search"),
    ],
)
def test_path_of_trusted_proxy_is_used(app: FastAPI, header: str, peer: str, expected: str) -> None:
    answer = asked(app, "/", {**HTML, "X-Forwarded-Prefix": header}, peer=peer)
    assert answer.headers["location"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("/ui", "/kg/ui"), ("//evil.example/ui", None), ("https://kg.example/ui", None), ("", None)],
)
@pytest.mark.parametrize("name", ["location", "hx-redirect", "hx-push-url"])
def test_only_own_addresses_get_the_path(name: str, given: str, expected: str | None) -> None:
    below = Forwarded(PlainTextResponse("", headers={name: given}), "/kg", "127.0.0.1")
    headers = send_to(below, "GET", "/", base_url="http://127.0.0.1").headers
    assert headers[name] == (given if expected is None else expected)
    assert not {each for each in headers if each.startswith("hx-")} - {name}


def test_page_has_path_in_every_address(app: FastAPI) -> None:
    page = asked(app, "/ui/login?next=/ui/jobs", PREFIX).text
    assert 'action="/kg/ui/login"' in page
    assert 'name="next" value="/ui/jobs"' in page
    assert re.findall(r'(?:href|src|action)="/(?!kg/)[^"]*"', page) == []
    script = re.search(r'src="(/kg/ui/assets/[^"]+)"', page)
    assert script
    assert asked(app, script[1], {}, root_path="/kg").status_code == 200


def test_page_of_forwarded_host_may_send_forms(app: FastAPI) -> None:
    sent = {"Origin": "http://localhost:9912", "Sec-Fetch-Site": "same-origin"}
    known = {**sent, "X-Forwarded-Host": "localhost:9912"}
    foreign = {"Origin": "http://evil.example", "X-Forwarded-Host": "evil.example"}
    statuses = [asked(app, "/nowhere", each, method="POST").status_code for each in (known, sent, foreign)]
    assert statuses == [404, 403, 403]
    assert asked(app, "/nowhere", known, method="POST", peer="192.0.2.7").status_code == 403


def test_templates_have_addresses_in_known_attributes() -> None:
    assert len(TEMPLATES) > 50
    unknown = set[str]()
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")
        found = re.findall(r"\s([\w:-]+)=[\"'](?:/ui|/docs|/openapi|\{\{ ?(?:address|below|asset)\()", text)
        unknown |= {name for name in found if not forwarded._ADDRESS.search(f' {name}="/x')}
        assert not re.search(r"\s(?:href|src|action|hx-get|hx-post)='", text), template
    assert unknown <= {"value", "title"}


def test_pieces_are_changed_like_whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarded, "_prefix", type(forwarded._prefix)("test", default="/kg"))
    page = '<a href="/ui/ask?q=1">x</a><p title="/ui">a="/b"</p><div sse-connect="/j" data-map="/m">href="/x"'
    expected = page.replace("/ui/ask", "/kg/ui/ask").replace('"/j', '"/kg/j').replace('"/m', '"/kg/m')
    assert prefix_page(page) == expected
    for size in (1, 3, 7):
        parts = [page[at : at + size] for at in range(0, len(page), size)]
        assert "".join(prefix_pieces(parts)) == expected
