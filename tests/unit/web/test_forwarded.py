from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from kg_api.settings import load_settings
from kg_api.web.app import create_app
from kg_api.web.shared import forwarded
from kg_api.web.shared.forwarded import Forwarded, page_below_prefix, pieces_below_prefix
from tests.support.asgi import send

TEMPLATES = sorted((Path(forwarded.__file__).parents[1] / "ui" / "templates").rglob("*.html"))
HTML = {"Accept": "text/html"}
PREFIX = {"X-Forwarded-Prefix": "/kg"}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(load_settings(), lambda _: None)


def ask(
    app: FastAPI,
    path: str,
    headers: dict[str, str],
    *,
    root_path: str = "",
    peer: str = "127.0.0.1",
    method: str = "GET",
) -> httpx.Response:
    below = Forwarded(app, root_path, "127.0.0.1")
    return send(below, method, path, base_url="http://127.0.0.1:8420", peer=peer, headers=headers)


@pytest.mark.parametrize("path", ["/", "/kg/", "/kg"])
def test_redirect_has_set_path(app: FastAPI, path: str) -> None:
    """A proxy can keep the path prefix or remove it."""
    assert ask(app, path, HTML, root_path="/kg").headers["location"] == "/kg/ui/search"


@pytest.mark.parametrize(
    ("header", "peer", "expected"),
    [
        ("/kg", "127.0.0.1", "/kg/ui/search"),
        ("/team/kg/", "127.0.0.1", "/team/kg/ui/search"),
        ("/outer, /inner", "127.0.0.1", "/outer/ui/search"),
        ("/", "127.0.0.1", "/ui/search"),
        ("", "127.0.0.1", "/ui/search"),
        ("//evil.example", "127.0.0.1", "/ui/search"),
        ("/\\evil.example", "127.0.0.1", "/ui/search"),
        ('/"><script>', "127.0.0.1", "/ui/search"),
        ("/a/../b", "127.0.0.1", "/ui/search"),
        ("http://evil.example", "127.0.0.1", "/ui/search"),
        ("/kg", "192.0.2.7", "/ui/search"),
    ],
)
def test_path_of_trusted_proxy_is_used(app: FastAPI, header: str, peer: str, expected: str) -> None:
    answer = ask(app, "/", {**HTML, "X-Forwarded-Prefix": header}, peer=peer)
    assert answer.headers["location"] == expected


def test_page_has_path_in_every_address(app: FastAPI) -> None:
    page = ask(app, "/ui/login?next=/ui/jobs", PREFIX).text
    assert 'action="/kg/ui/login"' in page
    assert 'name="next" value="/ui/jobs"' in page
    assert re.findall(r'(?:href|src|action)="/(?!kg/)[^"]*"', page) == []
    script = re.search(r'src="(/kg/ui/assets/[^"]+)"', page)
    assert script
    assert ask(app, script[1], {}, root_path="/kg").status_code == 200


def test_page_of_forwarded_host_may_send_forms(app: FastAPI) -> None:
    sent = {"Origin": "http://localhost:9912", "Sec-Fetch-Site": "same-origin"}
    known = {**sent, "X-Forwarded-Host": "localhost:9912"}
    foreign = {"Origin": "http://evil.example", "X-Forwarded-Host": "evil.example"}
    statuses = [ask(app, "/nowhere", each, method="POST").status_code for each in (known, sent, foreign)]
    assert statuses == [404, 403, 403]
    assert ask(app, "/nowhere", known, method="POST", peer="192.0.2.7").status_code == 403


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
    assert page_below_prefix(page) == expected
    for size in (1, 3, 7):
        parts = [page[at : at + size] for at in range(0, len(page), size)]
        assert "".join(pieces_below_prefix(parts)) == expected
