from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from lxml.html import document_fromstring

from kg_api.access import keys
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import NewKey
from tests.support.browsing import browser, cookie_of, session_of, sign_in, signed_in, token_in
from tests.support.embedders import small_embedder
from tests.support.routes import PAGES
from tests.support.running import Service

VISIT = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FOR_FORMS = [each[5:] for each in PAGES if each.startswith("POST ") and f"GET {each[5:]}" not in PAGES]
HTMX = {"HX-Request": "true", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def key(graph: Graph) -> str:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    return keys.create_key(graph, NewKey(name="ada", scope="write"), "local").key


@pytest.fixture
def nobody(guarded: Service) -> Iterator[httpx.Client]:
    with browser(guarded) as client:
        yield client


@pytest.fixture
def ada(guarded: Service, key: str) -> Iterator[httpx.Client]:
    with signed_in(guarded, key) as client:
        yield client


def test_error_links_to_the_previous_page(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease."})
    for method, path, back in (
        ("POST", "/ui/keys", "/ui/keys"),
        ("POST", "/ui/ontologies/notes/language", "/ui/ontologies/notes"),
        ("GET", "/ui/search?q=a&where=colour", "/ui/search"),
        ("GET", "/ui/ontologies/nowhere", "/ui/ontologies"),
        ("GET", "/ui/nowhere", "/ui/search"),
    ):
        answer = http.request(method, path)
        assert answer.status_code in {404, 422}, path
        links = document_fromstring(answer.text).xpath("//main//a/@href")
        assert links[0] == back, path
        assert links[-1] == "/ui/search", path


@pytest.mark.parametrize(
    "wanted", ["//evil.example/ui", "https:/ui", "/ui\\@evil.example", "/ui\r\nSet-Cookie: a=b"]
)
def test_redirects_stay_within_the_pages(nobody: httpx.Client, key: str, wanted: str) -> None:
    assert 'name="next" value="/ui/search"' in nobody.get("/ui/login", params={"next": wanted}).text
    answer = sign_in(nobody, key, next=wanted)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/search")


@pytest.mark.parametrize(
    "wanted", ["/ui", "/ui/", "/ui/read/0a1b?at=3", "/ui/search?q=%22a+b%22&ontology=%C3%A9"]
)
def test_requested_page_opens_after_sign_in(nobody: httpx.Client, key: str, wanted: str) -> None:
    asked = nobody.get(wanted)
    assert asked.status_code == 303
    assert httpx.URL(asked.headers["location"]).params["next"] == wanted
    assert asked.headers["cache-control"] == "no-store"
    assert "www-authenticate" not in asked.headers
    assert sign_in(nobody, key, next=wanted).headers["location"] == wanted


def test_partial_request_redirects_the_whole_page(nobody: httpx.Client) -> None:
    shown = {**HTMX, "HX-Current-URL": "http://127.0.0.1/ui/search?q=owl"}
    answer = nobody.get("/ui/search/facets?q=owl", headers=shown)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/ui/login?next=%2Fui%2Fsearch%3Fq%3Dowl"
    elsewhere = {**HTMX, "HX-Current-URL": "http://127.0.0.1//evil.example/ui"}
    assert (
        nobody.get("/ui/search", headers=elsewhere).headers["hx-redirect"] == "/ui/login?next=%2Fui%2Fsearch"
    )
    form = nobody.post("/ui/logout", headers={"Referer": "http://127.0.0.1/ui/read/ab?at=1"})
    assert form.headers["location"] == "/ui/login?next=%2Fui%2Fread%2Fab%3Fat%3D1"


@pytest.mark.parametrize("path", FOR_FORMS)
def test_form_route_redirects_to_its_page(nobody: httpx.Client, ada: httpx.Client, path: str) -> None:
    """After you sign in or reload, the browser should show a page and not the route of a form."""
    path = path.replace("{", "no-").replace("}", "")
    opened = ada.get(path)
    page = opened.headers["location"]
    assert (opened.status_code, opened.headers["cache-control"]) == (303, "no-store")
    assert path.startswith(f"{page}/")
    assert ada.get(page).status_code != 405
    assert ada.get(path, headers=HTMX).status_code == 405
    asked = httpx.URL(nobody.get(f"{path}?a=b").headers["location"]).params["next"]
    assert asked == (page if path != "/ui/logout" else "/ui/search")


def test_key_in_header_needs_no_session(nobody: httpx.Client, key: str) -> None:
    assert nobody.get("/ui/search", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    wrong = nobody.get("/ui/search", headers={"Authorization": "Bearer kg_wrong"})
    assert wrong.status_code == 401
    assert wrong.headers["www-authenticate"].startswith("Bearer")
    asked = nobody.get("/ui/search", headers={"Authorization": "Basic b3dsOm93bA=="})
    assert asked.status_code == 303, "a proxy asks for that by itself"


def test_external_link_opens_the_page(nobody: httpx.Client, ada: httpx.Client) -> None:
    """Browsers do not send the session when you follow the link, but they send it with the requests of
    the page."""
    again = nobody.get("/ui/search?q=owl&mode=text", headers=VISIT)
    assert again.status_code == 200
    assert 'http-equiv="refresh" content="0;url=/ui/search?q=owl&amp;mode=text"' in again.text
    own = {**VISIT, "Sec-Fetch-Site": "same-origin"}
    assert nobody.get("/ui/search?q=owl&mode=text", headers=own).status_code == 303
    assert ada.get("/ui/search?q=owl&mode=text", headers=own).status_code == 200


def test_form_without_token_is_rejected(guarded: Service, ada: httpx.Client, key: str) -> None:
    with signed_in(guarded, key) as other:
        foreign = token_in(other.get("/ui/search"))
    for token in (None, "", "x", "\u00e9", session_of(ada), foreign):
        answer = ada.post("/ui/logout", data={} if token is None else {"csrf_token": token})
        assert answer.status_code == 403, token
        assert "reload it" in answer.text
    assert ada.post("/ui/logout", headers={"X-CSRF-Token": "x"}).status_code == 403
    assert ada.post("/ui/logout", json={"csrf_token": token_in(ada.get("/ui/search"))}).status_code == 403
    files = {"csrf_token": (None, token_in(ada.get("/ui/search")))}
    assert ada.post("/ui/logout", files=files).status_code == 303


def test_denied_page_offers_sign_out(ada: httpx.Client) -> None:
    """You can sign out on this page, because you may have another key with the scope."""
    refused = ada.get("/ui/keys")
    assert refused.status_code == 403
    assert "Administration" not in refused.text
    answer = ada.post("/ui/logout", data={"csrf_token": token_in(refused)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")


def test_form_of_an_earlier_session_opens_its_page(ada: httpx.Client, key: str) -> None:
    old = token_in(ada.get("/ui/documents"))
    assert sign_in(ada, key).status_code == 303
    refused = ada.post("/ui/review/approve", data={"csrf_token": old})
    assert refused.status_code == 403
    assert "Go back to the page, reload it" in refused.text
    (back, _) = document_fromstring(refused.text).xpath("//main//a/@href")
    assert ada.get(back, follow_redirects=True).status_code == 200


def test_htmx_brings_the_token_in_a_header(ada: httpx.Client) -> None:
    token = token_in(ada.get("/ui/search"))
    assert ada.post("/ui/logout", headers={"X-CSRF-Token": token, **HTMX}).status_code == 303


def test_cookie_cannot_call_rest(ada: httpx.Client) -> None:
    headers = {"X-CSRF-Token": token_in(ada.get("/ui/search"))}
    body = {"ontology": "notes", "document": "a.txt", "text": "The owl sleeps."}
    assert ada.post("/documents", json=body, headers=headers).status_code == 401
    assert ada.delete("/documents/a.txt", headers=headers).status_code == 401
    assert ada.get("/documents").json()["total"] == 0


@pytest.mark.parametrize("path", ["/ui/login", "/ui/logout"])
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}, VISIT],
)
def test_cross_site_forms_are_rejected(
    ada: httpx.Client, key: str, path: str, headers: dict[str, str]
) -> None:
    form = {"key": key, "csrf_token": token_in(ada.get("/ui/search"))}
    before = session_of(ada)
    assert ada.post(path, data=form, headers=headers).status_code == 403
    assert session_of(ada) == before
    assert ada.get("/ui/search").status_code == 200


@pytest.mark.usefixtures("graph")
def test_disabled_authentication_hides_sign_in(service: Service) -> None:
    with browser(service) as client:
        page = client.get("/ui/search")
        assert page.status_code == 200
        assert "Sign out" not in page.text
        assert "X-CSRF-Token" not in page.text
        assert client.post("/ui/logout", headers={"Origin": "https://evil.example"}).status_code == 403
        client.cookies.set(cookie_of(client), "a" * 43)
        assert client.get("/ui/search").status_code == 200, "a session of another service says nothing"
