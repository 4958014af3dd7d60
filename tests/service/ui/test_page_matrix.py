from collections.abc import Iterator
from contextlib import ExitStack, nullcontext

import httpx
import pytest
from fastapi.routing import APIRoute

from kg_api.schemas.vocabulary import KeyScope
from kg_api.settings import load_settings
from kg_api.web.app import create_app
from kg_api.web.shared.scopes import is_page
from tests.service.conftest import SCOPES, Made
from tests.support.browsing import browser, cookie_of, knock_at_page, signed_in
from tests.support.routes import PAGES, PUBLIC_PAGES
from tests.support.running import Service

NOT_SIGNED_IN = "/ui/login?next="


@pytest.fixture(scope="module")
def visitors(guarded: Service, made: Made) -> Iterator[dict[KeyScope, httpx.Client]]:
    """Return browsers that are signed in with a key of each scope."""
    with ExitStack() as opened:
        yield {each: opened.enter_context(signed_in(guarded, made.keys[each])) for each in SCOPES}


def test_the_table_has_every_page() -> None:
    """If you add a page, add it to the table as well."""
    app = create_app(load_settings(), lambda _: None)
    included = [getattr(each, "original_router", app.router) for each in app.routes]
    routes = [each for router in included for each in router.routes if isinstance(each, APIRoute)]
    pages = [each for each in routes if is_page(each.path_format)]
    there = {f"{method} {each.path_format}" for each in pages for method in each.methods or ()}
    assert there == {*PAGES, *PUBLIC_PAGES}


def test_request_without_session_redirects_to_sign_in(guarded: Service, made: Made) -> None:
    for cookie in (None, "", "wrong", "a" * 43, made.keys["admin"], *made.sessions.values()):
        with browser(guarded) as client:
            sent = {} if cookie is None else {"Cookie": f"{cookie_of(client)}={cookie}"}
            for route in PAGES:
                answer = knock_at_page(client, route, **sent)
                assert answer.status_code == 303, (cookie, route, answer.text)
                assert answer.headers["location"].startswith(NOT_SIGNED_IN), route


def test_a_key_in_the_header_must_be_good(guarded: Service, made: Made) -> None:
    for key in ("kg_wrong", "kg_00000000_" + "a" * 43, made.keys["expired"], made.keys["revoked"]):
        for route in PAGES:
            with browser(guarded) as client:  # too many wrong keys of one address are rejected
                answer = knock_at_page(client, route, Authorization=f"Bearer {key}")
            assert answer.status_code == 401, (key, route)
            assert answer.headers["content-type"].startswith("text/html"), route


@pytest.mark.parametrize("at", range(len(SCOPES)), ids=SCOPES)
def test_session_has_the_scope_of_its_key(
    guarded: Service, made: Made, visitors: dict[KeyScope, httpx.Client], at: int
) -> None:
    scope = SCOPES[at]
    for route, needed in PAGES.items():
        visit = signed_in(guarded, made.keys[scope]) if "logout" in route else nullcontext(visitors[scope])
        with visit as client:
            answer = knock_at_page(client, route)
        if at < SCOPES.index(needed):
            assert answer.status_code == 403, (route, answer.text)
            assert f"&#39;{needed}&#39;" in answer.text, route
        else:
            assert answer.status_code not in {401, 403}, (route, answer.text)
            assert answer.status_code < 500, (route, answer.text)
            assert not answer.headers.get("location", "").startswith(NOT_SIGNED_IN), route


def test_changes_need_a_form_token(visitors: dict[KeyScope, httpx.Client]) -> None:
    for route in PAGES:
        method, path = route.split(" ")
        if method != "GET":
            answer = visitors["admin"].request(method, path.replace("{", "no-").replace("}", ""))
            assert answer.status_code == 403, route


def test_public_pages_need_no_session(guarded: Service) -> None:
    for route in PUBLIC_PAGES:
        with browser(guarded) as client:
            answer = knock_at_page(client, route)
        assert answer.status_code in {200, 401, 404}, route
        assert "location" not in answer.headers
    assert client_page(guarded).count("/ui/assets/") > 2


def client_page(guarded: Service) -> str:
    with browser(guarded) as client:
        page = client.get("/ui/login").text
        loaded = [each.partition('"')[0] for each in page.split('="')[1:] if each.startswith("/ui/assets/")]
        assert [client.get(each).status_code for each in loaded] == [200] * len(loaded)
    return page
