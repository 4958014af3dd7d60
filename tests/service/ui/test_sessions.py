import re
from collections.abc import Iterator

import httpx
import neo4j
import pytest
from playwright.sync_api import Browser, expect

from kg_api.access import keys
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import CreatedKey, KeyRotation, NewKey
from kg_api.web.shared.security import HTTPS, MAX_FAILED_SIGN_INS
from tests.support.browsing import browser, cookie_of, session_of, sign_in, signed_in, token_in
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.routes import PAGES
from tests.support.running import Service, wait_until

SESSIONS = "MATCH (s:PageSession)-[:OPENED_WITH]->(k:ApiKey) RETURN properties(s) AS session, k.name AS key"


@pytest.fixture
def key(graph: Graph) -> CreatedKey:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    return keys.create_key(graph, NewKey(name="ada", scope="admin"), "local")


@pytest.fixture
def nobody(guarded: Service) -> Iterator[httpx.Client]:
    with browser(guarded) as client:
        yield client


@pytest.fixture
def ada(guarded: Service, key: CreatedKey) -> Iterator[httpx.Client]:
    with signed_in(guarded, key.key) as client:
        yield client


def is_in(client: httpx.Client) -> bool:
    answer = client.get("/ui/search")
    assert answer.status_code in {200, 303}, answer.text
    return answer.status_code == 200


def test_sign_in_opens_pages_and_passages(
    nobody: httpx.Client, key: CreatedKey, driver: neo4j.Driver
) -> None:
    asked = nobody.get("/ui/search?q=owl&where=a%3D1")
    assert (asked.status_code, asked.headers["location"]) == (
        303, "/ui/login?next=%2Fui%2Fsearch%3Fq%3Dowl%26where%3Da%253D1",
    )  # fmt: skip
    form = nobody.get(asked.headers["location"])
    assert 'name="next" value="/ui/search?q=owl&amp;where=a%3D1"' in form.text
    assert "Sign out" not in form.text
    answer = sign_in(nobody, f" {key.key}\n", next="/ui/search?q=owl&where=a%3D1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/search?q=owl&where=a%3D1")
    page = nobody.get(answer.headers["location"])
    assert page.status_code == 200
    assert "ada" in page.text
    assert f'hx-headers=\'{{"X-CSRF-Token": "{token_in(page)}"}}\'' in page.text
    assert nobody.get("/keys").json()["keys"][0]["name"] == "ada", "reading is as with the key itself"
    stored = rows(driver, SESSIONS)
    assert [each["key"] for each in stored] == ["ada"]
    assert session_of(nobody) not in str(stored)


def test_cookie_is_restricted_and_contains_no_key(nobody: httpx.Client, key: CreatedKey) -> None:
    name, plain = cookie_of(nobody), sign_in(nobody, key.key).headers["set-cookie"]
    assert re.fullmatch(
        rf"{name}=[A-Za-z0-9_-]{{43}}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", plain
    )
    for headers in (
        {"X-Forwarded-Proto": "https"},
        {"Origin": str(nobody.base_url).replace("http:", "https:")},
    ):
        answer = nobody.post("/ui/login", data={"key": key.key}, headers=headers)
        kept = answer.headers.get_list("set-cookie")[-1]
        assert re.fullmatch(
            rf"{HTTPS}{name}=[A-Za-z0-9_-]{{43}}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict; Secure",
            kept,
        )
        assert key.key[12:] not in str(answer.headers)
        token = kept.partition("=")[2].partition(";")[0]
        https = {"X-Forwarded-Proto": "https"}
        with httpx.Client(base_url=nobody.base_url) as other:
            for begins, status in ((HTTPS, 200), ("", 303)):
                got = other.get("/ui/search", headers={"Cookie": f"{begins}{name}={token}", **https})
                assert got.status_code == status, "by https others may have set what has the plain name"


def test_invalid_key_does_not_sign_in(
    guarded: Service, graph: Graph, key: CreatedKey, nobody: httpx.Client, driver: neo4j.Driver
) -> None:
    made = {each: keys.create_key(graph, NewKey(name=each), "local").key for each in ("expired", "revoked")}
    keys.rotate_key(graph, "expired", KeyRotation(overlap_hours=0), "local")
    keys.revoke_key(graph, "revoked")
    guessed = key.key[:20] + key.key[20:].swapcase()
    answers = [sign_in(nobody, each) for each in ("", "kg_wrong", "a" * 5000, guessed, *made.values())]
    assert [each.status_code for each in answers] == [401] * 6
    assert len({each.text for each in answers}) == 1, "it tells nobody how near they were"
    assert "wrong, expired, or revoked" in answers[0].text
    assert not any("set-cookie" in each.headers for each in answers)
    assert rows(driver, SESSIONS) == []
    for each in (guessed, *made.values()):
        assert each[12:] not in guarded.output()
    assert f'"claimed_key": "{made["revoked"][3:11]}"' in guarded.output()


def test_repeated_sign_in_attempts_are_limited_per_client(
    nobody: httpx.Client, guarded: Service, key: CreatedKey
) -> None:
    sign_in(nobody, key.key)
    tried = [sign_in(nobody, f"kg_{n:08x}_" + "a" * 43) for n in range(MAX_FAILED_SIGN_INS + 1)]
    assert [each.status_code for each in tried] == [401] * MAX_FAILED_SIGN_INS + [429]
    assert 1 <= int(tried[-1].headers["retry-after"]) <= 60
    assert tried[-1].headers["content-type"].startswith("text/html")
    assert sign_in(nobody, key.key).status_code == 429
    with signed_in(guarded, key.key) as other:
        assert is_in(other)


def test_sign_out_ends_the_session_and_is_audited(
    ada: httpx.Client, guarded: Service, key: CreatedKey, driver: neo4j.Driver
) -> None:
    token = session_of(ada)
    answer = ada.post("/ui/logout", data={"csrf_token": token_in(ada.get("/ui/search"))})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert rows(driver, SESSIONS) == []
    with browser(guarded) as kept:
        kept.cookies.set(cookie_of(kept), token)
        assert not is_in(kept)
    with KgClient(guarded.url, api_key=key.key) as kg:
        wait_until(lambda: kg.audit("ada").total >= 2, 20)  # earlier tests' entries may be written meanwhile
        told = kg.audit("ada").entries
    assert [(each.path, each.key_name, each.status) for each in told] == [
        ("/ui/logout", "ada", 303), ("/ui/login", "ada", 303),
    ]  # fmt: skip
    assert key.key not in str(told)
    assert token not in guarded.output()


def test_rotated_key_continues_without_scripts(browser: Browser, guarded: Service, graph: Graph) -> None:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    context = browser.new_context(base_url=guarded.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/ui/concepts?q=owl")
    for name in ("ada", "bob"):
        page.get_by_label("API key").fill(
            keys.create_key(graph, NewKey(name=name, scope="read"), "local").key
        )
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#q")).to_have_value("owl")
        page.reload()
        expect(page.locator("#q")).to_have_value("owl")
        context.clear_cookies()  # without waiting for the seconds that sessions are remembered
        page.reload()
    context.close()


VISIT = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FOR_FORMS = [each[5:] for each in PAGES if each.startswith("POST ") and f"GET {each[5:]}" not in PAGES]
HTMX = {"HX-Request": "true", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def write_key(graph: Graph) -> str:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    return keys.create_key(graph, NewKey(name="ada", scope="write"), "local").key


@pytest.fixture
def eve(guarded: Service, write_key: str) -> Iterator[httpx.Client]:
    with signed_in(guarded, write_key) as client:
        yield client


@pytest.mark.parametrize("path", FOR_FORMS)
def test_form_route_redirects_to_its_page(nobody: httpx.Client, eve: httpx.Client, path: str) -> None:
    """After you sign in or reload, the browser should show a page and not the route of a form."""
    path = path.replace("{", "no-").replace("}", "")
    opened = eve.get(path)
    page = opened.headers["location"]
    assert (opened.status_code, opened.headers["cache-control"]) == (303, "no-store")
    assert path.startswith(f"{page}/")
    assert eve.get(page).status_code != 405
    assert eve.get(path, headers=HTMX).status_code == 405
    asked = httpx.URL(nobody.get(f"{path}?a=b").headers["location"]).params["next"]
    assert asked == (page if path != "/ui/logout" else "/ui/search")


def test_external_link_opens_the_page(nobody: httpx.Client, eve: httpx.Client) -> None:
    """Browsers do not send the session when you follow the link, but they send it with the requests of
    the page."""
    again = nobody.get("/ui/search?q=owl&mode=text", headers=VISIT)
    assert again.status_code == 200
    assert 'http-equiv="refresh" content="0;url=/ui/search?q=owl&amp;mode=text"' in again.text
    own = {**VISIT, "Sec-Fetch-Site": "same-origin"}
    assert nobody.get("/ui/search?q=owl&mode=text", headers=own).status_code == 303
    assert eve.get("/ui/search?q=owl&mode=text", headers=own).status_code == 200


def test_form_without_token_is_rejected(guarded: Service, eve: httpx.Client, write_key: str) -> None:
    with signed_in(guarded, write_key) as other:
        foreign = token_in(other.get("/ui/search"))
    for token in (None, "", "x", "\u00e9", session_of(eve), foreign):
        answer = eve.post("/ui/logout", data={} if token is None else {"csrf_token": token})
        assert answer.status_code == 403, token
        assert "reload it" in answer.text
    assert eve.post("/ui/logout", headers={"X-CSRF-Token": "x"}).status_code == 403
    assert eve.post("/ui/logout", json={"csrf_token": token_in(eve.get("/ui/search"))}).status_code == 403
    files = {"csrf_token": (None, token_in(eve.get("/ui/search")))}
    assert eve.post("/ui/logout", files=files).status_code == 303


def test_cookie_cannot_call_rest(eve: httpx.Client) -> None:
    headers = {"X-CSRF-Token": token_in(eve.get("/ui/search"))}
    body = {"ontology": "notes", "document": "a.txt", "text": "The owl sleeps."}
    assert eve.post("/documents", json=body, headers=headers).status_code == 401
    assert eve.delete("/documents/a.txt", headers=headers).status_code == 401
    assert eve.get("/documents").json()["total"] == 0


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
